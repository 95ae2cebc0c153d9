import {type ChildProcess, spawn} from 'node:child_process';
import {existsSync, statSync} from 'node:fs';
import {createRequire} from 'node:module';
import {constants} from 'node:os';
import {dirname, join} from 'node:path';
import type {Readable} from 'node:stream';
import {LongarmError} from '../../../shared/errors.js';
import {CAN_READ_TERMINALS, OTHER_RUNTIME} from '../../../shared/node/other-runtime.js';
import type {OutputStream} from '../../output/output-log.js';
import {signalGroup, signalProcess} from '../../tree/signals.js';
import type {Backend, Child, ChildEvents, SpawnRequest, TerminalSize} from '../backend.js';
import {spawnError} from '../backend.js';
import {OutputReader} from '../output-reader.js';
import {createPipeWriter, createTerminalWriter} from '../stdin-writers.js';

/** The native part of `@lydell/node-pty`, without its stream, which loses output and blocks on writes. */
interface PtyBinding {
	fork(
		file: string,
		args: readonly string[],
		environment: readonly string[],
		cwd: string,
		columns: number,
		rows: number,
		uid: number,
		gid: number,
		utf8: boolean,
		helperPath: string,
		exited: (code: number, signal: number) => void,
	): {fd: number; pid: number};
	resize(fd: number, columns: number, rows: number): void;
}

/**
 * Backend on `node:child_process` and a prebuilt terminal binding, for systems without the native backend. Less exact:
 * pipes are socket pairs (a child cannot reopen `/dev/stdout`), the working directory has to be UTF-8, and a file without
 * a known format is run by the shell. On a terminal `arg0` does not reach the program, and a failed exec (too many
 * arguments) looks like a program that failed. Tested on Linux only; macOS is expected to work.
 */
export function createChildProcessBackend(): Backend {
	return {
		name: 'child_process',
		async spawn(request, events) {
			const {io, file, wrapper} = request;
			if (wrapper?.hasOwnSession) throw wrapperUnsupportedError();
			if (io.kind === 'pty' && !CAN_READ_TERMINALS) throw terminalUnsupportedError();
			try {
				return io.kind === 'pty' ? spawnPty(request, io, events) : await spawnPipes(request, io.stdin, events);
			} catch (error) {
				// Failures are events, or thrown by `spawn`, or thrown by our own checks.
				throw error instanceof LongarmError ? error : spawnError((error as NodeJS.ErrnoException).errno ?? 0, file);
			}
		},
	};
}

function terminalUnsupportedError(): LongarmError {
	return new LongarmError('NOT_SUPPORTED', {
		message: `terminals do not work under ${OTHER_RUNTIME}: run the program with Node, or without a terminal`,
	});
}

/** Node can pass on neither extra file descriptors nor a terminal that is not the controlling one. */
function wrapperUnsupportedError(): LongarmError {
	return new LongarmError('NOT_SUPPORTED', {
		message:
			'sandbox intent cannot be enforced on this executor: its native part (koffi) is missing, or the runtime is not Node',
	});
}

async function spawnPipes(request: SpawnRequest, stdin: boolean, events: ChildEvents): Promise<Child> {
	requireDirectory(request);
	const child = spawn(request.file, request.argv.slice(1), {
		argv0: request.argv[0]!,
		cwd: Buffer.from(request.cwd).toString(),
		env: Object.fromEntries(request.environment),
		detached: true,
		stdio: [stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'],
	});
	child.once('exit', (code, signal) =>
		events.exited({exitCode: code ?? 128 + constants.signals[signal!], isSignaled: code === null}),
	);
	const pid = await waitForSpawn(child, request);
	const streams = [
		new StreamOutput(child.stdout!, 'stdout', events),
		new StreamOutput(child.stderr!, 'stderr', events),
	];
	return {
		pid,
		tag: undefined,
		streams: ['stdout', 'stderr'],
		stdin: child.stdin ? createPipeWriter(child.stdin as import('node:net').Socket) : undefined,
		pause: () => {
			for (const stream of streams) stream.pause();
		},
		resume: () => {
			for (const stream of streams) stream.resume();
		},
		drainAndClose: () => {
			for (const stream of streams) stream.drainAndClose();
		},
		signal: name => signalGroup(pid, name),
		resize: undefined,
	};
}

function waitForSpawn(child: ChildProcess, {file}: SpawnRequest): Promise<number> {
	return new Promise((resolve, reject) => {
		child.once('spawn', () => resolve(child.pid!));
		child.once('error', (error: NodeJS.ErrnoException) => reject(spawnError(error.errno ?? 0, file)));
	});
}

function spawnPty(request: SpawnRequest, size: TerminalSize, events: ChildEvents): Child {
	requireDirectory(request);
	requireProgram(request);
	const {binding, helper} = loadBinding();
	const environment = [...request.environment].map(([name, value]) => `${name}=${value}`);
	const cwd = Buffer.from(request.cwd).toString();
	const {fd, pid} = binding.fork(
		request.file,
		request.argv.slice(1),
		environment,
		cwd,
		size.columns,
		size.rows,
		-1,
		-1,
		false,
		helper,
		(code, signal) => events.exited({exitCode: signal ? 128 + signal : code, isSignaled: signal !== 0}),
	);
	const writer = createTerminalWriter(fd);
	let isOpen = true;
	const reader = new OutputReader(fd, 'pty', {
		data: bytes => events.output('pty', bytes),
		beforeClose: () => {
			isOpen = false;
			writer.destroy();
		},
		end: () => events.streamEnded('pty'),
	});
	return {
		pid,
		tag: undefined,
		streams: ['pty'],
		stdin: writer,
		pause: () => reader.pause(),
		resume: () => reader.resume(),
		drainAndClose: () => reader.drainAndClose(),
		signal: name => {
			// The fork returns before the child has become a group leader: until then only its pid can be signalled.
			if (!signalGroup(pid, name)) signalProcess(pid, name);
		},
		resize: ({columns, rows}) => {
			if (isOpen) binding.resize(fd, columns, rows);
		},
	};
}

/** A bad working directory and a missing program look the same to `child_process`, and a terminal reports neither. */
function requireDirectory({cwd, file}: SpawnRequest): void {
	if (!statSync(Buffer.from(cwd)).isDirectory()) throw spawnError(constants.errno.ENOTDIR, file);
}

function requireProgram({cwd, file}: SpawnRequest): void {
	const path = file.startsWith('/') ? file : join(Buffer.from(cwd).toString(), file);
	const found = statSync(path);
	if (!found.isFile() || (found.mode & 0o111) === 0) throw spawnError(constants.errno.EACCES, file);
}

function loadBinding(): {binding: PtyBinding; helper: string} {
	const require = createRequire(import.meta.url);
	const path = `@lydell/node-pty-${process.platform}-${process.arch}/pty.node`;
	try {
		// The binaries are dependencies of the package, not ours.
		const fromPackage = createRequire(require.resolve('@lydell/node-pty'));
		const helper = join(dirname(fromPackage.resolve(path)), 'spawn-helper');
		return {binding: fromPackage(path) as PtyBinding, helper: existsSync(helper) ? helper : ''};
	} catch (cause) {
		throw new LongarmError('NOT_SUPPORTED', {message: 'no terminal support is installed for this platform', cause});
	}
}

/** Output of a stream that Node reads. */
class StreamOutput {
	readonly #stream: Readable;
	#state: 'flowing' | 'paused' | 'draining' = 'flowing';

	constructor(stream: Readable, name: OutputStream, events: ChildEvents) {
		this.#stream = stream;
		stream.on('data', (bytes: Buffer) => events.output(name, bytes));
		stream.on('error', () => stream.destroy());
		stream.once('close', () => events.streamEnded(name));
		// Node resumes the streams of a child that exits, even paused ones.
		stream.on('resume', () => {
			if (this.#state === 'paused') stream.pause();
		});
	}

	pause(): void {
		if (this.#state !== 'flowing') return;
		this.#state = 'paused';
		this.#stream.pause();
	}

	resume(): void {
		if (this.#state !== 'paused') return;
		this.#state = 'flowing';
		this.#stream.resume();
	}

	/** One tick of the event loop reads what the kernel holds; `pause` has no effect any more. */
	drainAndClose(): void {
		this.#state = 'draining';
		this.#stream.resume();
		setImmediate(() => setImmediate(() => this.#stream.destroy()));
	}
}
