import {EventEmitter, once} from 'node:events';
import {readdirSync, readlinkSync} from 'node:fs';
import {describe} from 'vitest';
import type {Backend, Child, ChildEvents, KernelExit, SpawnRequest} from '../../src/processes/backends/backend.js';
import {createNativeBackend} from '../../src/processes/backends/linux/native-backend.js';
import {createChildProcessBackend} from '../../src/processes/backends/node/child-process-backend.js';
import type {OutputStream} from '../../src/processes/output/output-log.js';

export type Io = SpawnRequest['io'];
export const PIPES: Io = {kind: 'pipes', stdin: false};
export const PIPES_WITH_STDIN: Io = {kind: 'pipes', stdin: true};
export const PTY: Io = {kind: 'pty', columns: 80, rows: 24};

const PATH = '/usr/local/bin:/usr/bin:/bin';

export function nativeBackend(): Backend {
	const backend = createNativeBackend();
	if (!backend) throw new Error('posix_spawn cannot be reached: is koffi installed?');
	return backend;
}

/** Runs the suite over every backend. */
export function describeEachBackend(suite: (backend: Backend) => void): void {
	for (const backend of [nativeBackend(), createChildProcessBackend()]) {
		describe(`over ${backend.name}`, () => {
			suite(backend);
		});
	}
}

/** `sh -c script`, or whatever `changes` make of it. */
export function sh(script: string, io: Io, changes: Partial<SpawnRequest> = {}): SpawnRequest {
	return {
		file: '/bin/sh',
		argv: ['sh', '-c', script],
		cwd: Buffer.from('/tmp'),
		environment: new Map([['PATH', PATH]]),
		io,
		...changes,
	};
}

/** Records the events of a child. */
export class Report implements ChildEvents {
	readonly chunks: {stream: OutputStream; bytes: Uint8Array}[] = [];
	readonly exits: number[] = [];
	readonly ends: OutputStream[] = [];
	/** Events in order, with consecutive output of a stream as one entry. */
	readonly timeline: string[] = [];
	readonly #news = new EventEmitter();
	onOutput = (): void => {};

	output(stream: OutputStream, bytes: Uint8Array): void {
		this.chunks.push({stream, bytes});
		this.#tell(stream);
		this.onOutput();
	}

	streamEnded(stream: OutputStream): void {
		this.ends.push(stream);
		this.#tell(`${stream} ended`);
	}

	exited({exitCode}: KernelExit): void {
		this.exits.push(exitCode);
		this.#tell('exited');
	}

	bytes(stream?: OutputStream): Buffer {
		const chosen = this.chunks.filter(chunk => stream === undefined || chunk.stream === stream);
		return Buffer.concat(chosen.map(({bytes}) => bytes));
	}

	text(stream?: OutputStream): string {
		return this.bytes(stream).toString('latin1');
	}

	/** Waits until `probe` is true, checked after every event. */
	async until(probe: () => boolean): Promise<void> {
		while (!probe()) await once(this.#news, 'news');
	}

	shows(text: string): Promise<void> {
		return this.until(() => this.text().includes(text));
	}

	#tell(what: string): void {
		if (this.timeline.at(-1) !== what) this.timeline.push(what);
		this.#news.emit('news');
	}
}

export interface Started {
	readonly child: Child;
	readonly report: Report;
	/** Exited and every stream at its end. */
	readonly finished: () => Promise<Outcome>;
}

export interface Outcome {
	readonly exitCode: number | undefined;
	readonly stdout: string;
	readonly stderr: string;
	readonly pty: string;
}

export async function start(backend: Backend, request: SpawnRequest): Promise<Started> {
	const report = new Report();
	const child = await backend.spawn(request, report);
	return {
		child,
		report,
		async finished() {
			await report.until(() => report.exits.length > 0 && report.ends.length === child.streams.length);
			child.stdin?.destroy();
			const [stdout, stderr, pty] = [report.text('stdout'), report.text('stderr'), report.text('pty')];
			return {exitCode: report.exits[0], stdout, stderr, pty};
		},
	};
}

/** Starts a child and waits for its end. */
export async function run(backend: Backend, request: SpawnRequest): Promise<Outcome> {
	return (await start(backend, request)).finished();
}

/** Pipes, sockets and terminals this process has open. */
export function openChannels(): string[] {
	const targets = readdirSync('/proc/self/fd').map(fd => {
		try {
			return readlinkSync(`/proc/self/fd/${fd}`);
		} catch {
			return 'gone';
		}
	});
	return targets.filter(target => /^(?:pipe|socket):|^\/dev\/(?:ptmx|pts)/.test(target)).sort();
}
