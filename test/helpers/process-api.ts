import {onTestFinished} from 'vitest';
import {isStillAlive, type ProcessInfo, readProcessInfo} from '../../src/processes/tree/process-tree.js';
import {signalProcess} from '../../src/processes/tree/signals.js';
import {RpcError} from '../../src/protocol/wire/error-codes.js';
import type {ServerOptions} from '../../src/server/options.js';
import type {ExecServer} from '../../src/server/server.js';
import {serving} from './serving.js';
import {TestClient} from './test-client.js';

/** Prints its pid and ignores SIGTERM, SIGINT and SIGHUP. */
export const STUBBORN = `trap '' TERM INT HUP; echo $$; while :; do sleep 1000; done`;

export const TERMINAL = {io: {pty: {rows: 24, cols: 80}}};
export const OPEN_STDIN = {io: {pipe: {stdin: 'open'}}};

export interface Served {
	readonly server: ExecServer;
	readonly url: string;
	readonly client: TestClient;
}

/** A server of its own and a client whose handshake is over. */
export async function served(options: ServerOptions = {}): Promise<Served> {
	const {server, url} = await serving(options);
	return {server, url, client: await joined(url)};
}

export async function joined(url: string, resumeSessionId?: string): Promise<TestClient> {
	const client = await TestClient.overWebSocket(url);
	return client.initialize(resumeSessionId);
}

/** The error reply to a call, with its data; `{accepted: result}` if there was none. Other errors are thrown. */
export async function refusal(call: Promise<unknown>): Promise<unknown> {
	try {
		return {accepted: await call};
	} catch (error) {
		if (!(error instanceof RpcError)) throw error;
		const {code, message, data} = error;
		return {code, message, ...(data !== undefined && {data})};
	}
}

/** `'accepted'`, or code and message of the error reply; any other error as it is. */
export function outcomeOf(call: Promise<unknown>): Promise<unknown> {
	return call.then(
		() => 'accepted',
		(error: unknown) => (error instanceof RpcError ? {code: error.code, message: error.message} : error),
	);
}

export interface Snapshot {
	readonly stdout: Buffer;
	readonly stderr: Buffer;
	readonly terminal: Buffer;
	readonly truncated: boolean;
	readonly exitCode: number | null;
	readonly running: boolean;
	readonly reason: string | null;
	readonly totalBytes: Record<'stdout' | 'stderr' | 'terminal', number>;
	readonly headBytes: Record<'stdout' | 'stderr' | 'terminal', number>;
	readonly omittedBytes: Record<'stdout' | 'stderr' | 'terminal', number>;
}

/** `process/snapshot` with its outputs decoded. */
export async function snapshotOf(client: TestClient, processId: string): Promise<Snapshot> {
	const raw = await client.call('process/snapshot', {processId});
	const decoded = (name: string): Buffer => Buffer.from(raw[name] as string, 'base64');
	return {
		...raw,
		stdout: decoded('stdout'),
		stderr: decoded('stderr'),
		terminal: decoded('terminal'),
	} as Snapshot;
}

export interface Listed {
	readonly processId: string;
	readonly state: string;
	readonly pid: number | null;
	readonly startedAtMs: number;
	readonly ageMs: number;
	readonly reason: string | null;
	readonly descendants: readonly {pid: number; parentPid: number; command: string}[];
}

/** One process as `process/list` shows it. */
export async function listed(client: TestClient, processId: string): Promise<Listed | undefined> {
	const {processes} = await client.call<{processes: Listed[]}>('process/list');
	return processes.find(each => each.processId === processId);
}

/** Waits for the first `count` pids a process printed; processes still alive at the end of the test are killed. */
export async function toldPids(client: TestClient, processId: string, count: number): Promise<number[]> {
	const numbers = (): string[] =>
		[
			...client
				.output(processId)
				.toString()
				.matchAll(/\b\d+(?=\s)/g),
		].map(String);
	await client.until(() => numbers().length >= count, `${count} process ids`);
	const pids = numbers().slice(0, count).map(Number);
	endWithTest(...pids);
	return pids;
}

/** Waits for the pid that a process printed as its only output. */
export async function pidOf(client: TestClient, processId: string): Promise<number> {
	await client.shows(processId, '\n');
	return Number(client.output(processId));
}

export function terminate(client: TestClient, processId: string, mode?: unknown): Promise<unknown> {
	return client.call('process/terminate', {processId, mode});
}

/** Kills these processes at the end of the test, but no later ones that got the same pid. */
export function endWithTest(...pids: number[]): void {
	const living = pids.map(readProcessInfo).filter((info): info is ProcessInfo => info !== undefined);
	onTestFinished(() => {
		for (const info of living.filter(isStillAlive)) signalProcess(info.pid, 'SIGKILL');
	});
}
