import {closeSync, constants} from 'node:fs';
import {Socket} from 'node:net';
import type {OutputStream} from '../../output/output-log.js';
import {DEFAULT_PATH} from '../../resolve-program.js';
import {keepSpareDescriptor} from '../../tree/proc.js';
import {signalGroup, signalWrapped} from '../../tree/signals.js';
import {enableSubreaper, registerChild, unregisterChild} from '../../tree/subreaper.js';
import type {Backend, Child, ChildEvents, KernelExit, SpawnRequest, StdinWriter, TerminalSize} from '../backend.js';
import {OutputReader} from '../output-reader.js';
import {spawnFailure} from '../spawn-failure.js';
import {pipeWriter, terminalWriter} from '../stdin-writers.js';
import {applyLimits} from './apply-limits.js';
import {DescendantTags} from './descendant-tags.js';
import {type Libc, loadLibc} from './libc.js';
import {openTerminal, setTerminalSize} from './pseudo-terminal.js';
import {Reaper} from './reaper.js';
import {startWatchdog} from './watchdog.js';

const PR_SET_CHILD_SUBREAPER = 36;
const SETSIGDEF = 0x04;
const SETSIGMASK = 0x08;
const SETSID = 0x80;
const O_CLOEXEC = 0o2000000;
const F_DUPFD_CLOEXEC = 1030;
/** The first one that is not standard. */
const FIRST_DESCRIPTOR = 3;
/** Generous sizes of the C library's opaque structures. */
const ATTRIBUTES_BYTES = 512;
const ACTIONS_BYTES = 256;
const SIGNAL_SET_BYTES = 256;

/**
 * Children through the C library's `posix_spawn`: real pipes and terminals, failures to start reported at once, and a
 * cost that does not grow with the memory of the server, unlike that of a fork.
 */
export function createNativeBackend(): Backend | undefined {
	const libc = loadLibc();
	return libc && new NativeBackend(libc);
}

class NativeBackend implements Backend {
	readonly name = 'posix_spawn';
	readonly #libc: Libc;
	readonly #reaper: Reaper;
	readonly #attributes: Uint8Array;
	#tags: DescendantTags | undefined;
	/** Of the child that is being started. */
	#tag: string | undefined;

	constructor(libc: Libc) {
		this.#libc = libc;
		this.#reaper = new Reaper(libc);
		this.#attributes = sessionLeaderAttributes(libc);
	}

	/** Orphans of our children become our own children instead of those of the first process of the machine. */
	becomeSubreaper(): void {
		if (this.#tags) return;
		if (this.#libc.prctl(PR_SET_CHILD_SUBREAPER, 1) === 0) {
			this.#reaper.adoptOrphans();
			enableSubreaper();
		}
		keepSpareDescriptor();
		const tags = new DescendantTags(this.#libc);
		const environment = new Map([['PATH', DEFAULT_PATH]]);
		const watchdog = startWatchdog(this.#libc, tags.prefix, (argv, redirect) =>
			this.#launch({file: argv[0]!, argv, cwd: Buffer.from('/'), environment}, redirect),
		);
		registerChild(watchdog);
		this.#tags = tags;
	}

	spawn(request: SpawnRequest, events: ChildEvents): Child {
		this.#tag = this.#tags?.next();
		return request.io.kind === 'pty'
			? this.#spawnPty(request, request.io, events)
			: this.#spawnPipes(request, request.io.stdin, events);
	}

	#spawnPipes(request: SpawnRequest, wantsStdin: boolean, events: ChildEvents): Child {
		using fds = new Descriptors();
		const stdout = this.#pipe(fds, request);
		const stderr = this.#pipe(fds, request);
		const stdin = wantsStdin ? this.#pipe(fds, request) : undefined;
		const pid = this.#launch(request, actions => {
			if (stdin) this.#libc.actionsDup2(actions, stdin.read, 0);
			else this.#libc.actionsOpen(actions, 0, '/dev/null', constants.O_RDONLY, 0);
			this.#libc.actionsDup2(actions, stdout.write, 1);
			this.#libc.actionsDup2(actions, stderr.write, 2);
		});
		const readers = [
			pipeReader(fds.release(stdout.read), 'stdout', events),
			pipeReader(fds.release(stderr.read), 'stderr', events),
		];
		const writer = stdin && pipeWriter(new Socket({fd: fds.release(stdin.write), readable: false, writable: true}));
		return this.#child(pid, request, ['stdout', 'stderr'], readers, writer, undefined, events);
	}

	#spawnPty(request: SpawnRequest, size: TerminalSize, events: ChildEvents): Child {
		using fds = new Descriptors();
		const {fd, slave} = openTerminal(this.#libc, request.file);
		fds.hold(fd);
		setTerminalSize(this.#libc, fd, size);
		const pid = this.#launch(request, actions => {
			// The first terminal that a session leader opens becomes its controlling terminal.
			const flags = request.wrapper?.ownSession ? constants.O_RDWR | constants.O_NOCTTY : constants.O_RDWR;
			this.#libc.actionsOpen(actions, 0, slave, flags, 0);
			this.#libc.actionsDup2(actions, 0, 1);
			this.#libc.actionsDup2(actions, 0, 2);
		});
		fds.release(fd);
		// The kernel hands out a terminal's output in pieces of at most 4 KiB: take all there is per wake-up.
		const readMore = (buffer: Uint8Array): number => this.#libc.read(fd, buffer, buffer.length);
		const writer = terminalWriter(fd);
		let open = true;
		const line = this.#heldLine();
		const readers = [
			new OutputReader(
				fd,
				'pty',
				{
					data: bytes => events.output('pty', bytes),
					release: isOver => {
						open = false;
						writer.destroy();
						if (isOver) line.hold(fd);
					},
					end: () => events.ended('pty'),
				},
				readMore,
			),
		];
		const resize = (to: TerminalSize): void => {
			if (open) setTerminalSize(this.#libc, fd, to);
		};
		const exited = (end: KernelExit): void => {
			line.drop();
			events.exited(end);
		};
		return this.#child(pid, request, ['pty'], readers, writer, resize, {...events, exited});
	}

	/**
	 * A program may let go of its terminal before it ends. Closing our side then would hang up on it, and its exit would
	 * be a signal nobody sent.
	 */
	#heldLine(): {hold(fd: number): void; drop(): void} {
		let isOver = false;
		let held = -1;
		return {
			hold: fd => {
				if (!isOver) held = this.#libc.fcntl(fd, F_DUPFD_CLOEXEC, 0);
			},
			drop: () => {
				isOver = true;
				if (held >= 0) closeSync(held);
				held = -1;
			},
		};
	}

	#launch(request: Omit<SpawnRequest, 'io'>, redirect: (actions: Uint8Array) => void): number {
		const actions = Buffer.alloc(ACTIONS_BYTES);
		this.#libc.actionsInit(actions);
		try {
			redirect(actions);
			const more = request.wrapper?.descriptors ?? [];
			for (const [index, path] of more.entries()) {
				this.#libc.actionsOpen(actions, FIRST_DESCRIPTOR + index, path, constants.O_RDONLY, 0);
			}
			this.#libc.actionsCloseFrom(actions, FIRST_DESCRIPTOR + more.length);
			this.#libc.actionsChdir(actions, Buffer.concat([request.cwd, Buffer.alloc(1)]));
			const environment = [...request.environment].map(([name, value]) => `${name}=${value}`);
			const pid: [number] = [0];
			const error = this.#libc.posixSpawn(
				pid,
				request.file,
				actions,
				this.#attributes,
				[...request.argv, null],
				[...environment, null],
			);
			if (error !== 0) throw spawnFailure(error, request.file);
			return pid[0];
		} finally {
			this.#libc.actionsDestroy(actions);
		}
	}

	#pipe(fds: Descriptors, {file}: SpawnRequest): {read: number; write: number} {
		const pair: [number, number] = [0, 0];
		if (this.#libc.pipe2(pair, O_CLOEXEC) !== 0) throw spawnFailure(this.#libc.errno(), file);
		return {read: fds.hold(pair[0]), write: fds.hold(pair[1])};
	}

	#child(
		pid: number,
		{wrapper, limits}: SpawnRequest,
		streams: readonly OutputStream[],
		readers: readonly OutputReader[],
		stdin: StdinWriter | undefined,
		resize: Child['resize'],
		events: ChildEvents,
	): Child {
		if (limits) applyLimits(this.#libc, pid, limits);
		registerChild(pid);
		this.#reaper.watch(pid, end => {
			unregisterChild(pid);
			for (const each of readers) each.drainBuffered();
			events.exited(end);
		});
		return {
			pid,
			tag: this.#tag,
			streams,
			stdin: stdin && attended(stdin, readers),
			pause: () => {
				for (const each of readers) each.pause();
			},
			resume: () => {
				for (const each of readers) each.resume();
			},
			finish: () => {
				for (const each of readers) each.drainAndClose();
			},
			signal: name => void (wrapper?.ownSession ? signalWrapped(pid, name) : signalGroup(pid, name)),
			resize,
		};
	}
}

/** Whoever types waits for an answer. */
function attended(stdin: StdinWriter, readers: readonly OutputReader[]): StdinWriter {
	return {
		write: (bytes, done) => {
			for (const each of readers) each.flushNow();
			stdin.write(bytes, done);
		},
		end: () => stdin.end(),
		destroy: () => stdin.destroy(),
	};
}

function pipeReader(fd: number, stream: OutputStream, events: ChildEvents): OutputReader {
	return new OutputReader(fd, 'pipe', {
		data: bytes => events.output(stream, bytes),
		end: () => events.ended(stream),
	});
}

/** A session of its own, no signal ignored or blocked. */
function sessionLeaderAttributes(libc: Libc): Uint8Array {
	const attributes = Buffer.alloc(ATTRIBUTES_BYTES);
	// One bit per signal. `sigfillset` leaves out those the C library keeps for itself, and the child would ignore them.
	const all = Buffer.alloc(SIGNAL_SET_BYTES, 0xff);
	const none = Buffer.alloc(SIGNAL_SET_BYTES);
	libc.attributesInit(attributes);
	libc.attributesSetFlags(attributes, SETSID | SETSIGDEF | SETSIGMASK);
	libc.attributesSetSignalDefaults(attributes, all);
	libc.attributesSetSignalMask(attributes, none);
	return attributes;
}

/** Descriptors that are closed at the end of the block unless somebody took them over. */
class Descriptors implements Disposable {
	readonly #held = new Set<number>();

	hold(fd: number): number {
		this.#held.add(fd);
		return fd;
	}

	release(fd: number): number {
		this.#held.delete(fd);
		return fd;
	}

	[Symbol.dispose](): void {
		for (const fd of this.#held) closeSync(fd);
	}
}
