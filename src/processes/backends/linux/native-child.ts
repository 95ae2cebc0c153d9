// Linux only: real pipes and terminals.
import {closeSync} from 'node:fs';
import {Socket} from 'node:net';
import {fromKernelTime, toKernelTime} from '../../../shared/node/kernel-clock.js';
import {F_DUPFD_CLOEXEC} from '../../../shared/node/memory-file.js';
import type {OutputStream} from '../../output/output-log.js';
import {endOrphansOf, endTree} from '../../tree/end-tree.js';
import {askToEnd, signalGroup, signalWrappedProgram} from '../../tree/signals.js';
import {refreshOrphans, registerChild, unregisterChild} from '../../tree/subreaper.js';
import type {Child, ChildEvents, ChildHandle, InputSource, KernelExit, StdinWriter, TerminalSize} from '../backend.js';
import {OutputReader, type ReaderEvents} from '../output-reader.js';
import {CLOSED_STDIN, createPipeWriter, createTerminalWriter} from '../stdin-writers.js';
import {hasPipeReader, probePipe, probeTerminal} from './input-probe.js';
import type {Libc} from './libc.js';
import {createPipeSource} from './pipe-flood.js';
import {findSlave, setTerminalSize} from './pseudo-terminal.js';
import type {Reaper} from './reaper.js';
import {createFloodSource} from './terminal-flood.js';

export interface ChildContext {
	readonly libc: Libc;
	readonly reaper: Reaper;
}

/** Reads and writes the streams of a child, which it owns from now on, and reports its exit. */
export function connectChild(handle: ChildHandle, context: ChildContext, events: ChildEvents): Child {
	return handle.kind === 'pty' ? connectTerminal(handle, context, events) : connectPipes(handle, context, events);
}

function connectPipes(handle: ChildHandle, context: ChildContext, events: ChildEvents): Child {
	const {outputs, stdinFd, hasStdin} = handle;
	const sources = {openPipe: (fd: number) => createPipeSource(context.libc, fd)};
	const readers = outputs.map(
		({stream, fd}) => new OutputReader(fd, 'pipe', new StreamEvents(stream, events), sources),
	);
	const input = stdinFd === undefined ? CLOSED_INPUT : openPipeInput(context.libc, stdinFd);
	const {writer: stdin, probe: inputProbe} = hasStdin ? input : {...input, writer: undefined};
	return new NativeChild(handle, context, {readers, stdin, inputProbe}, events);
}

interface ChildInput {
	readonly writer: StdinWriter;
	readonly probe: Child['inputProbe'];
}

const CLOSED_INPUT: ChildInput = {writer: CLOSED_STDIN, probe: undefined};

function openPipeInput(libc: Libc, fd: number): ChildInput {
	const socket = new Socket({fd, readable: false, writable: true});
	const writer = createPipeWriter(socket, end => hasPipeReader(libc, end));
	return {writer, probe: () => (socket.writable ? probePipe(fd) : undefined)};
}

function connectTerminal(handle: ChildHandle, context: ChildContext, events: ChildEvents): Child {
	const guard = new HangupGuard(context.libc, handle.heldFd);
	const fd = handle.outputs[0]?.fd;
	const terminal = fd === undefined ? CLOSED_TERMINAL : openTerminalStreams(fd, context.libc, guard, events);
	return new NativeChild(handle, context, {...terminal, guard}, events);
}

/** Tells of one stream. An object of a class, and not of functions: a server has thousands of idle streams. */
class StreamEvents implements ReaderEvents {
	readonly #stream: OutputStream;
	readonly #events: ChildEvents;

	constructor(stream: OutputStream, events: ChildEvents) {
		this.#stream = stream;
		this.#events = events;
	}

	data(bytes: Uint8Array): void {
		this.#events.output(this.#stream, bytes);
	}

	end(): void {
		this.#events.streamEnded(this.#stream);
	}
}

interface ChildStreams {
	/** In the order of the child's outputs. */
	readonly readers: readonly OutputReader[];
	readonly stdin: StdinWriter | undefined;
	readonly resize?: Child['resize'];
	readonly inputProbe?: Child['inputProbe'];
	readonly guard?: HangupGuard;
}

const CLOSED_TERMINAL: ChildStreams = {readers: [], stdin: CLOSED_STDIN, resize: () => {}};

function openTerminalStreams(fd: number, libc: Libc, guard: HangupGuard, events: ChildEvents): ChildStreams {
	// The kernel returns terminal output in pieces of at most 4 KiB: read all there is per wake-up.
	const readNonBlocking = (buffer: Uint8Array): number => libc.read(fd, buffer, buffer.length);
	const stdin = createTerminalWriter(fd);
	let isOpen = true;
	const reader = new OutputReader(
		fd,
		'pty',
		{
			data: bytes => events.output('pty', bytes),
			beforeClose: isAtEnd => {
				isOpen = false;
				stdin.destroy();
				if (isAtEnd) guard.holdOpen(fd);
			},
			end: () => events.streamEnded('pty'),
		},
		{readNonBlocking, flood: createFloodSource(libc, fd)},
	);
	const resize = (to: TerminalSize): void => {
		if (isOpen) setTerminalSize(libc, fd, to);
	};
	const inputProbe = (): InputSource | undefined => {
		const slave = isOpen ? findSlave(libc, fd) : undefined;
		return slave === undefined ? undefined : probeTerminal(libc, fd, slave);
	};
	return {readers: [reader], stdin, resize, inputProbe};
}

/**
 * Keeps a duplicate of the pty master open until the child has exited. A child may close its terminal before it exits;
 * closing the last master then would make the kernel send SIGHUP, and the exit would be reported as a signal.
 */
class HangupGuard {
	readonly #libc: Libc;
	#isClosed = false;
	#duplicate: number | undefined;

	constructor(libc: Libc, duplicate: number | undefined) {
		this.#libc = libc;
		this.#duplicate = duplicate;
	}

	get fd(): number | undefined {
		return this.#duplicate;
	}

	holdOpen(fd: number): void {
		if (this.#isClosed) return;
		const duplicate = this.#libc.fcntl(fd, F_DUPFD_CLOEXEC, 0);
		this.#duplicate = duplicate < 0 ? undefined : duplicate;
	}

	close(): void {
		this.#isClosed = true;
		if (this.#duplicate !== undefined) closeSync(this.#duplicate);
		this.#duplicate = undefined;
	}
}

const PIPES: readonly OutputStream[] = ['stdout', 'stderr'];
const TERMINAL: readonly OutputStream[] = ['pty'];

/** The names of a child's streams; the same list for all children that have the usual ones. */
function nameStreams({outputs}: ChildHandle): readonly OutputStream[] {
	const isUsual = (names: readonly OutputStream[]): boolean =>
		outputs.length === names.length && outputs.every(({stream}, index) => stream === names[index]);
	return [PIPES, TERMINAL].find(isUsual) ?? outputs.map(({stream}) => stream);
}

class NativeChild implements Child {
	readonly pid: number;
	readonly tag: string | undefined;
	readonly spawnedAt: number;
	readonly streams: readonly OutputStream[];
	readonly stdin: StdinWriter | undefined;
	readonly resize: Child['resize'];
	readonly inputProbe: Child['inputProbe'];
	readonly #kind: ChildHandle['kind'];
	readonly #hasOwnSession: boolean;
	readonly #readers: readonly OutputReader[];
	readonly #guard: HangupGuard | undefined;
	readonly #events: ChildEvents;
	#hasExited: boolean;

	constructor(
		handle: ChildHandle,
		{reaper}: ChildContext,
		{readers, stdin, resize, inputProbe, guard}: ChildStreams,
		events: ChildEvents,
	) {
		this.pid = handle.pid;
		this.tag = handle.tag;
		this.spawnedAt = fromKernelTime(handle.spawnedAt);
		this.streams = nameStreams(handle);
		this.stdin = stdin && flushOnWrite(stdin, readers);
		this.resize = resize;
		this.inputProbe = inputProbe;
		this.#kind = handle.kind;
		this.#hasOwnSession = handle.hasOwnSession;
		this.#readers = readers;
		this.#guard = guard;
		this.#events = events;
		this.#hasExited = handle.hasExited;
		if (this.#hasExited) return;
		registerChild(this.pid);
		reaper.watch(this.pid, exit => this.#handleExit(exit));
	}

	get isReading(): boolean {
		return this.#readers.some(({isAway}) => isAway);
	}

	pause(): void {
		for (const each of this.#readers) each.pause();
	}

	resume(): void {
		for (const each of this.#readers) each.resume();
	}

	drainAndClose(): void {
		for (const each of this.#readers) each.drainAndClose();
	}

	/** Without a PID namespace, what a killed wrapper has started would live on: SIGKILL ends its whole tree. */
	signal(name: NodeJS.Signals): void {
		if (!this.#hasOwnSession) signalGroup(this.pid, name);
		else if (name !== 'SIGKILL') signalWrappedProgram(this.pid, name);
		else if (!this.#hasExited) void endTree(this, undefined);
	}

	askToEnd(): void {
		askToEnd(this.pid, {isWrapper: this.#hasOwnSession, hasTerminal: this.#kind === 'pty'});
	}

	handOver(): ChildHandle {
		const {pid, tag, stdin} = this;
		return {
			pid,
			tag,
			spawnedAt: toKernelTime(this.spawnedAt),
			hasOwnSession: this.#hasOwnSession,
			hasExited: this.#hasExited,
			kind: this.#kind,
			outputs: this.#readers.flatMap(({fd}, index) => (fd === undefined ? [] : [{stream: this.streams[index]!, fd}])),
			stdinFd: this.#kind === 'pty' ? undefined : stdin?.handOver?.().fd,
			hasStdin: stdin !== undefined,
			heldFd: this.#guard?.fd,
		};
	}

	#handleExit(exit: KernelExit): void {
		this.#hasExited = true;
		unregisterChild(this.pid);
		// A wrapper ends after everything it has started, unless it was killed, for example because memory ran out.
		if (this.#hasOwnSession) {
			// The list of this tick may have been read before.
			refreshOrphans();
			void endOrphansOf([this]);
		}
		for (const each of this.#readers) each.drainBuffered();
		this.#guard?.close();
		this.#events.exited(exit);
	}
}

/** Ends coalescing of output at every write: after input the caller waits for the reply. */
function flushOnWrite(stdin: StdinWriter, readers: readonly OutputReader[]): StdinWriter {
	return {
		...stdin,
		write: (bytes, done) => {
			for (const each of readers) each.flushNow();
			stdin.write(bytes, done);
		},
	};
}
