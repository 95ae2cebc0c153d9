// Linux only: real pipes and terminals.
import {closeSync} from 'node:fs';
import {Socket} from 'node:net';
import {fromKernelTime, toKernelTime} from '../../../shared/node/kernel-clock.js';
import {F_DUPFD_CLOEXEC} from '../../../shared/node/memory-file.js';
import type {OutputStream} from '../../output/output-log.js';
import {signalGroup, signalWrappedProgram} from '../../tree/signals.js';
import {registerChild, unregisterChild} from '../../tree/subreaper.js';
import type {Child, ChildEvents, ChildHandle, InputSource, StdinWriter, TerminalSize} from '../backend.js';
import {OutputReader} from '../output-reader.js';
import {CLOSED_STDIN, createPipeWriter, createTerminalWriter} from '../stdin-writers.js';
import {probePipe, probeTerminal} from './input-probe.js';
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
	const readers = outputs.map(({stream, fd}) => ({
		stream,
		reader: new OutputReader(
			fd,
			'pipe',
			{data: bytes => events.output(stream, bytes), end: () => events.streamEnded(stream)},
			{pipe: createPipeSource(context.libc, fd)},
		),
	}));
	const socket = stdinFd === undefined ? undefined : new Socket({fd: stdinFd, readable: false, writable: true});
	const writer = socket ? createPipeWriter(socket) : CLOSED_STDIN;
	const inputProbe = socket && (() => (socket.writable ? probePipe(stdinFd!) : undefined));
	return createChild(handle, context, {readers, stdin: hasStdin ? writer : undefined, inputProbe}, events);
}

function connectTerminal(handle: ChildHandle, context: ChildContext, events: ChildEvents): Child {
	const guard = new HangupGuard(context.libc, handle.heldFd);
	const exited: ChildEvents['exited'] = exit => {
		guard.close();
		events.exited(exit);
	};
	const fd = handle.outputs[0]?.fd;
	const terminal = fd === undefined ? CLOSED_TERMINAL : openTerminalStreams(fd, context.libc, guard, events);
	return createChild(handle, context, {...terminal, guard}, {...events, exited});
}

interface ChildStreams {
	readonly readers: readonly {readonly stream: OutputStream; readonly reader: OutputReader}[];
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
	return {readers: [{stream: 'pty', reader}], stdin, resize, inputProbe};
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

function createChild(
	handle: ChildHandle,
	{reaper}: ChildContext,
	{readers: named, stdin, resize, inputProbe, guard}: ChildStreams,
	events: ChildEvents,
): Child {
	const {pid, tag, hasOwnSession} = handle;
	const readers = named.map(({reader}) => reader);
	let {hasExited} = handle;
	if (!hasExited) {
		registerChild(pid);
		reaper.watch(pid, exit => {
			hasExited = true;
			unregisterChild(pid);
			for (const each of readers) each.drainBuffered();
			events.exited(exit);
		});
	}
	const spawnedAt = fromKernelTime(handle.spawnedAt);
	return {
		pid,
		tag,
		spawnedAt,
		streams: named.map(({stream}) => stream),
		stdin: stdin && flushOnWrite(stdin, readers),
		pause: () => {
			for (const each of readers) each.pause();
		},
		resume: () => {
			for (const each of readers) each.resume();
		},
		get isReading() {
			return readers.some(({isAway}) => isAway);
		},
		drainAndClose: () => {
			for (const each of readers) each.drainAndClose();
		},
		signal: name => void (hasOwnSession ? signalWrappedProgram(pid, name) : signalGroup(pid, name)),
		resize,
		inputProbe,
		handOver: () => ({
			pid,
			tag,
			spawnedAt: toKernelTime(spawnedAt),
			hasOwnSession,
			hasExited,
			kind: handle.kind,
			outputs: named.flatMap(({stream, reader: {fd}}) => (fd === undefined ? [] : [{stream, fd}])),
			stdinFd: handle.kind === 'pty' ? undefined : stdin?.handOver?.().fd,
			hasStdin: stdin !== undefined,
			heldFd: guard?.fd,
		}),
	};
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
