import {chmodSync, cpSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {onTestFinished} from 'vitest';
import type {ProcessHandle, StartOptions, StartParams} from '../../src/client/process/process-handle.js';
import {SessionClient, type SessionClientOptions} from '../../src/client/session/session-client.js';
import {VERSION} from '../../src/shared/version.js';
import type {ConnectOptions} from '../../src/transports/node/connect-web-socket.js';
import {connectUnixSocket, connectWebSocket} from '../../src/transports/node/connect-web-socket.js';
import {Command, type CommandOptions, PROGRAM} from './command.js';
import {scratchDirectory} from './scratch.js';

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));
export const NEXT_VERSION = '99.0.0';

/** A server whose program is a file of the test's own, which can be replaced by another one. */
export class UpgradableServer {
	readonly command: Command;
	readonly #entry: string;
	#upgrades = 0;

	constructor(settings: readonly string[] = [], options: Omit<CommandOptions, 'program'> = {}) {
		const directory = scratchDirectory();
		// For a server of another user.
		chmodSync(directory, 0o755);
		this.#entry = join(directory, 'longarm.cjs');
		this.install(requiring(PROGRAM));
		this.command = new Command(['serve', ...settings], {...options, program: this.#entry});
	}

	/** Puts another program where that of the server was. */
	install(source: string): void {
		writeFileSync(`${this.#entry}.new`, source);
		renameSync(`${this.#entry}.new`, this.#entry);
	}

	/** Puts the same program there, which calls itself another version. */
	installNextVersion(): void {
		this.install(requiring(copyAs(NEXT_VERSION)));
	}

	/** Sends the signal; settles when the next program serves. */
	async upgrade(): Promise<void> {
		this.signal();
		await this.upgraded();
	}

	signal(): void {
		process.kill(this.command.pid, 'SIGUSR2');
	}

	async upgraded(): Promise<void> {
		const count = ++this.#upgrades;
		await this.command.until(() => this.command.stderr.split('"upgraded"').length > count, `upgrade ${count}`);
	}

	/** A client of the library, which reconnects. */
	async client(options: SessionClientOptions = {}, tls?: ConnectOptions['tls']): Promise<SessionClient> {
		const url = await this.command.url();
		const connect = (signal?: AbortSignal) =>
			url.startsWith('unix:')
				? connectUnixSocket(url.slice('unix:'.length), {signal})
				: connectWebSocket(url, {signal, tls});
		const client = await SessionClient.open(connect, options);
		onTestFinished(() => client.close());
		return client;
	}
}

/** A program that waits, when it takes the place of another one, until a file is there. */
export function waitingFor(released: string, arrived: string): string {
	return `
		const fs = require('node:fs');
		if (process.env.LONGARM_HANDOFF_FD) {
			fs.writeFileSync(${JSON.stringify(arrived)}, '');
			const cell = new Int32Array(new SharedArrayBuffer(4));
			while (!fs.existsSync(${JSON.stringify(released)})) Atomics.wait(cell, 0, 0, 5);
		}
		${requiring(PROGRAM)}`;
}

function requiring(program: string): string {
	return `require(${JSON.stringify(program)});\n`;
}

function copyAs(version: string): string {
	const folder = join(scratchDirectory(), 'bin');
	cpSync(dirname(PROGRAM), folder, {recursive: true});
	symlinkSync(MODULES, join(folder, 'node_modules'));
	const parts = join(folder, 'parts');
	for (const name of readdirSync(parts).filter(each => each.endsWith('.js'))) {
		const path = join(parts, name);
		writeFileSync(path, readFileSync(path, 'latin1').replaceAll(`"${VERSION}"`, `"${version}"`), 'latin1');
	}
	return join(folder, 'longarm.js');
}

/** Starts a shell script. */
export async function startScript(
	client: SessionClient,
	processId: string,
	script: string,
	{options, ...extra}: Partial<StartParams> & {readonly options?: StartOptions} = {},
): Promise<ProcessHandle> {
	const env = {PATH: process.env['PATH']!};
	const params = {processId, argv: ['/bin/sh', '-c', script], cwd: '/tmp', env, tty: false, ...extra};
	return (await client.start(params, options)).process;
}

export interface Collected {
	readonly text: string;
	/** Kinds of events other than output. */
	readonly ends: readonly string[];
	readonly exitCode: number | undefined;
}

/** All output of a process; a gap or a loss is among its ends. */
export async function collect(handle: ProcessHandle): Promise<Collected> {
	const chunks: Uint8Array[] = [];
	const ends: string[] = [];
	let exitCode: number | undefined;
	for await (const event of handle.events()) {
		if (event.kind === 'output') chunks.push(Uint8Array.from(event.bytes));
		else ends.push(event.kind);
		if (event.kind === 'exited') exitCode = event.exitCode;
	}
	return {text: Buffer.concat(chunks).toString(), ends, exitCode};
}

/** Prints numbered lines with a pause now and then until a file is there, and then the last one. */
export function counting(stop: string): string {
	return `i=0; while [ ! -e ${stop} ]; do i=$((i + 1)); echo "line $i"; [ $((i % 20)) != 0 ] || sleep 0.01; done; exit 7`;
}

/** Number of lines if they are numbered from 1 without a gap, else the first that is wrong. */
export function countLines(text: string): number | string {
	const lines = text.replaceAll('\r', '').trim().split('\n');
	return lines.find((line, index) => line !== `line ${index + 1}`) ?? lines.length;
}
