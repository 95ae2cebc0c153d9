// Linux only: posix_spawn through koffi.
import {closeSync, constants, fstatSync, openSync, readlinkSync} from 'node:fs';
import {LongarmError} from '../../../shared/errors.js';
import {toKernelTime} from '../../../shared/node/kernel-clock.js';
import {F_DUPFD_CLOEXEC, openMemoryFile} from '../../../shared/node/memory-file.js';
import {keepSpareDescriptor} from '../../tree/proc.js';
import {signalGroup} from '../../tree/signals.js';
import {enableSubreaper, registerChild, unregisterChild} from '../../tree/subreaper.js';
import {enableTaggedOrphans} from '../../tree/tagged-orphans.js';
import type {
	Backend,
	Child,
	ChildEvents,
	ChildHandle,
	PendingChild,
	SpawnRequest,
	SubreaperOptions,
	SubreaperState,
	TerminalSize,
} from '../backend.js';
import {INHERITED_DESCRIPTOR, spawnError} from '../backend.js';
import {applyLimits, needsLauncher, withOomScore} from './apply-limits.js';
import {DescendantGroup, leaveGroup} from './descendant-group.js';
import {DescendantTags} from './descendant-tags.js';
import {type Libc, loadLibc} from './libc.js';
import {connectChild} from './native-child.js';
import {OrphanSweep} from './orphan-sweep.js';
import {openTerminal, setTerminalSize} from './pseudo-terminal.js';
import {Reaper} from './reaper.js';
import {TemporaryTags} from './temporary-tags.js';
import {type Launch, type LauncherCommand, WaitingLauncher} from './waiting-launcher.js';
import {type LaunchWatchdog, type Marks, Watchdog} from './watchdog.js';

const PR_SET_CHILD_SUBREAPER = 36;
const SETSIGDEF = 0x04;
const SETSIGMASK = 0x08;
const SETSID = 0x80;
const O_CLOEXEC = 0o2000000;
const O_PATH = 0o10000000;
/** First file descriptor after the standard streams. */
const FIRST_EXTRA_FD = 3;
/** Sizes of the opaque structures of the C library, rounded up generously. */
const ATTRIBUTES_BYTES = 512;
const ACTIONS_BYTES = 256;
const SIGNAL_SET_BYTES = 256;

/**
 * Backend on `posix_spawn` of the C library: real pipes and terminals, synchronous spawn failures, and a cost that does
 * not grow with the memory of the server, unlike that of a fork.
 */
export function createNativeBackend(): Backend | undefined {
	const libc = loadLibc();
	return libc && new NativeBackend(libc);
}

type Command = Omit<SpawnRequest, 'io'>;
/** The ends of a child's streams that this program has. */
type OwnEnds = Pick<ChildHandle, 'outputs' | 'stdinFd' | 'hasStdin'>;
/** Adds the file actions that connect the standard streams of a child. */
type Redirect = (actions: Uint8Array) => void;

/** Set once this process is the subreaper of its descendants. */
interface Subreaper {
	readonly tags: DescendantTags;
	readonly sweep: OrphanSweep;
	readonly watchdog: Watchdog;
	readonly marks: Marks;
	readonly isGrouped: boolean;
}

class NativeBackend implements Backend {
	readonly name = 'posix_spawn';
	readonly passesContent = true;
	readonly #libc: Libc;
	readonly #reaper: Reaper;
	readonly #attributes: Uint8Array;
	#subreaper: Subreaper | undefined;
	/** Created at the first start without a subreaper. */
	#temporaryTags: TemporaryTags | undefined;
	/** Created at the first start with limits. */
	#launcher: WaitingLauncher | undefined;
	/** Tag of the child that is being spawned. */
	#tag: string | undefined;

	constructor(libc: Libc) {
		this.#libc = libc;
		this.#reaper = new Reaper(libc);
		this.#attributes = createSessionLeaderAttributes(libc);
	}

	becomeSubreaper({logger, groupPath, inherited, leaves}: SubreaperOptions): void {
		if (this.#subreaper) return;
		if (leaves?.groupPath !== undefined) leaveGroup(leaves.groupPath);
		const tags = new DescendantTags(this.#libc, inherited?.tags);
		const isSubreaper = this.#libc.prctl(PR_SET_CHILD_SUBREAPER, 1) === 0;
		if (isSubreaper) {
			enableSubreaper(
				tag => tags.isIssued(tag),
				pid => this.#reaper.reapOrphan(pid),
			);
		}
		keepSpareDescriptor();
		const mayGroup = groupPath === undefined && !inherited;
		const group = mayGroup ? DescendantGroup.create(`longarm-${process.pid}-${tags.prefix}`) : undefined;
		const common = inherited ? inherited.tags.common : tags.setCommonMark();
		// Before the watchdog is started, which has to outlive that other program, too.
		if (leaves && (tags.setNext() === undefined || common === undefined)) throw new Error('limits cannot be lowered');
		const marks = {prefix: tags.prefix, common, groupPath: inherited?.groupPath ?? groupPath ?? group?.path};
		const watchdog = new Watchdog(this.#libc, marks, this.#launchWatchdog, logger, inherited?.watchdog);
		const isGrouped = inherited?.isGrouped ?? (groupPath !== undefined || group?.join() === true);
		// Without privileges marks can still be lowered to those of another server, or of a keeper.
		const sweep = new OrphanSweep(watchdog, {includesMarked: !isGrouped});
		if (isSubreaper) this.#reaper.reapOrphans(pid => watchdog.handleExit(pid));
		this.#subreaper = {tags, sweep, watchdog, marks, isGrouped};
		if (inherited) setImmediate(() => this.#reapInherited(sweep));
	}

	/** Children may have exited, and orphans come, while this program was loaded. */
	#reapInherited(sweep: OrphanSweep): void {
		this.#reaper.sweep();
		sweep.begin();
	}

	handOver(): SubreaperState | undefined {
		if (!this.#subreaper) return undefined;
		const {tags, watchdog, marks, isGrouped} = this.#subreaper;
		return {
			tags: {...tags.handOver(), common: marks.common},
			groupPath: marks.groupPath,
			isGrouped,
			watchdog: watchdog.handOver(),
		};
	}

	readonly #launchWatchdog: LaunchWatchdog = (argv, redirect, descriptors) => {
		const command = {file: argv[0], argv, cwd: Buffer.from('/'), environment: new Map()};
		return this.#posixSpawn(command, redirect, {...command, descriptors});
	};

	get groupPath(): string | undefined {
		return this.#subreaper?.isGrouped ? this.#subreaper.marks.groupPath : undefined;
	}

	spawnLasting(request: Omit<SpawnRequest, 'io' | 'limits'>, events: ChildEvents): Child {
		const sweep = this.#subreaper?.sweep;
		const exited: ChildEvents['exited'] = exit => {
			sweep?.unspare(child.pid);
			events.exited(exit);
		};
		// Without limits, and so not a pending one.
		const child = this.spawn({...request, io: {kind: 'pipes', stdin: true}}, {...events, exited}) as Child;
		sweep?.spare(child.pid);
		return child;
	}

	adoptLasting(pid: number, onExit: () => void): void {
		const sweep = this.#subreaper?.sweep;
		registerChild(pid);
		sweep?.spare(pid);
		this.#reaper.watch(pid, () => {
			unregisterChild(pid);
			sweep?.unspare(pid);
			onExit();
		});
	}

	spawn(request: SpawnRequest, events: ChildEvents): Child | PendingChild {
		if (!this.#subreaper) {
			return this.#getTemporaryTags().tagWhile(tag => {
				this.#tag = tag;
				return this.#spawn(request, events);
			});
		}
		this.#tag = this.#subreaper.tags.setNext();
		this.#subreaper.sweep.arm();
		return this.#spawn(request, events);
	}

	#getTemporaryTags(): TemporaryTags {
		if (!this.#temporaryTags) {
			const tags = new TemporaryTags(this.#libc);
			this.#temporaryTags = tags;
			enableTaggedOrphans(tag => tags.isIssued(tag));
		}
		return this.#temporaryTags;
	}

	#spawn(request: SpawnRequest, events: ChildEvents): Child | PendingChild {
		return request.io.kind === 'pty'
			? this.#spawnPty(request, request.io, events)
			: this.#spawnPipes(request, request.io.stdin, events);
	}

	#spawnPipes(request: SpawnRequest, wantsStdin: boolean, events: ChildEvents): Child | PendingChild {
		using fds = new DescriptorScope();
		const stdout = this.#openPipe(fds, request);
		const stderr = this.#openPipe(fds, request);
		const stdin = wantsStdin ? this.#openPipe(fds, request) : undefined;
		const launch = this.#launch(request, actions => {
			if (stdin) this.#libc.actionsDup2(actions, stdin.read, 0);
			else this.#libc.actionsOpen(actions, 0, '/dev/null', constants.O_RDONLY, 0);
			this.#libc.actionsDup2(actions, stdout.write, 1);
			this.#libc.actionsDup2(actions, stderr.write, 2);
		});
		return this.#connect(request, launch, events, {
			outputs: [
				{stream: 'stdout', fd: fds.release(stdout.read)},
				{stream: 'stderr', fd: fds.release(stderr.read)},
			],
			stdinFd: stdin && fds.release(stdin.write),
			hasStdin: wantsStdin,
		});
	}

	#spawnPty(request: SpawnRequest, size: TerminalSize, events: ChildEvents): Child | PendingChild {
		using fds = new DescriptorScope();
		const {fd, slave} = openTerminal(this.#libc, request.file);
		fds.own(fd);
		setTerminalSize(this.#libc, fd, size);
		const launch = this.#launch(request, actions => {
			// The first terminal that a session leader opens becomes its controlling terminal.
			const flags = request.wrapper?.hasOwnSession ? constants.O_RDWR | constants.O_NOCTTY : constants.O_RDWR;
			this.#libc.actionsOpen(actions, 0, slave, flags, 0);
			this.#libc.actionsDup2(actions, 0, 1);
			this.#libc.actionsDup2(actions, 0, 2);
		});
		return this.#connect(request, launch, events, {outputs: [{stream: 'pty', fd: fds.release(fd)}], hasStdin: true});
	}

	#connect(
		{io, wrapper}: SpawnRequest,
		{pid, pending}: Launch,
		events: ChildEvents,
		ends: OwnEnds,
	): Child | PendingChild {
		const handle: ChildHandle = {
			pid,
			tag: this.#tag,
			spawnedAt: toKernelTime(performance.now()),
			hasOwnSession: wrapper?.hasOwnSession ?? false,
			hasExited: false,
			kind: io.kind,
			...ends,
		};
		return pending ? this.#connectLater(handle, pending, events) : this.adopt(handle, events);
	}

	/** Until it is the program, the child is reaped, but known to nobody: it ends with the other orphans of this process. */
	#connectLater(handle: ChildHandle, pending: Promise<void>, events: ChildEvents): PendingChild {
		const {pid, outputs, stdinFd} = handle;
		let isPending = true;
		this.#reaper.hold(pid);
		const child = pending.then(
			() => {
				isPending = false;
				return this.adopt(handle, events);
			},
			(error: unknown) => {
				isPending = false;
				this.#reaper.watch(pid, () => {});
				for (const {fd} of outputs) closeSync(fd);
				if (stdinFd !== undefined) closeSync(stdinFd);
				throw error;
			},
		);
		return Object.assign(child, {cancel: () => void (isPending && signalGroup(pid, 'SIGKILL'))});
	}

	adopt(handle: ChildHandle, events: ChildEvents): Child {
		return connectChild(handle, {libc: this.#libc, reaper: this.#reaper}, events);
	}

	/** Limits are in place before the program runs its first instruction: its descendants have no other time to begin. */
	#launch(request: Command, redirect: Redirect): Launch {
		const {limits, wrapper} = request;
		if (!limits || !needsLauncher(limits)) {
			const pid = withOomScore(limits?.oomScore, () => this.#posixSpawn(request, redirect));
			return {pid, pending: undefined};
		}
		this.#launcher ??= new WaitingLauncher(this.#libc);
		return this.#launcher.launch(request, {
			firstFd: FIRST_EXTRA_FD + (wrapper?.descriptors.length ?? 0),
			spawn: launcher => this.#posixSpawn(request, redirect, launcher),
			prepare: pid => applyLimits(this.#libc, pid, limits),
			discard: pid => {
				signalGroup(pid, 'SIGKILL');
				this.#reaper.watch(pid, () => {});
			},
		});
	}

	/** Spawns the requested program, or a launcher in its place. */
	#posixSpawn(request: Command, redirect: Redirect, launcher?: LauncherCommand): number {
		const {file, argv, descriptors} = launcher ?? {...request, descriptors: []};
		using fds = new DescriptorScope();
		const {
			descriptors: contents = [],
			emptyDescriptors = [],
			heldPaths = [],
			isInMemory = false,
		} = request.wrapper ?? {};
		const firstFree = FIRST_EXTRA_FD + contents.length + descriptors.length;
		// Above every descriptor of the child, so that none is overwritten while they are put in place.
		const minFd = Math.max(firstFree, INHERITED_DESCRIPTOR + 1, ...heldPaths.map(({fd}) => fd + 1));
		const open = (content: Uint8Array, isExecutable: boolean): number => {
			const options = {minFd, isExecutable};
			return fds.own(openMemoryFile(this.#libc, content, options, errno => spawnError(errno, request.file)));
		};
		const opened = contents.map((content, index) => open(content, isInMemory && index === 0));
		const placed = new Map(heldPaths.map(({fd, path}) => [fd, fds.own(this.#openExactly(path, minFd))]));
		if (request.inherited) placed.set(INHERITED_DESCRIPTOR, open(request.inherited, false));
		const actions = Buffer.alloc(ACTIONS_BYTES);
		this.#libc.actionsInit(actions);
		try {
			redirect(actions);
			const extra = [...opened, ...descriptors];
			for (const [index, fd] of extra.entries()) this.#libc.actionsDup2(actions, fd, FIRST_EXTRA_FD + index);
			this.#placeAndClose(actions, firstFree, placed);
			for (const fd of emptyDescriptors) {
				const errno = this.#libc.actionsOpen(actions, fd, '/dev/null', constants.O_RDONLY, 0);
				if (errno !== 0) throw spawnError(errno, request.file);
			}
			this.#libc.actionsChdir(actions, Buffer.concat([request.cwd, Buffer.alloc(1)]));
			// Entered above, so that a missing directory is told. The wrapper itself gets no directory of the client's.
			if (request.wrapper) this.#libc.actionsChdir(actions, Buffer.from('/\0'));
			const environment = [...request.environment].map(([name, value]) => `${name}=${value}`);
			const pid: [number] = [0];
			const error = this.#libc.posixSpawn(
				pid,
				file,
				actions,
				this.#attributes,
				[...argv, null],
				[...environment, null],
			);
			if (error !== 0) throw spawnError(error, request.file);
			return pid[0];
		} finally {
			this.#libc.actionsDestroy(actions);
		}
	}

	/** Closes every descriptor from `firstFree` on, except those that others are put in the place of. */
	#placeAndClose(actions: Uint8Array, firstFree: number, placed: ReadonlyMap<number, number>): void {
		const end = Math.max(firstFree, ...[...placed.keys()].map(fd => fd + 1));
		for (let fd = firstFree; fd < end; fd++) {
			const source = placed.get(fd);
			if (source === undefined) this.#libc.actionsClose(actions, fd);
			else this.#libc.actionsDup2(actions, source, fd);
		}
		this.#libc.actionsCloseFrom(actions, end);
	}

	/** Opens a file or directory without the right to read it; throws if there is a link in its path. */
	#openExactly(path: string, minFd: number): number {
		using fds = new DescriptorScope();
		try {
			const low = fds.own(openSync(path, O_PATH | constants.O_NOFOLLOW));
			if (readlinkSync(`/proc/self/fd/${low}`) !== path || fstatSync(low).isSymbolicLink()) throw movedError(path);
			const fd = this.#libc.fcntl(low, F_DUPFD_CLOEXEC, minFd);
			if (fd < 0) throw spawnError(this.#libc.errno(), path);
			return fd;
		} catch (error) {
			throw error instanceof LongarmError ? error : movedError(path, error);
		}
	}

	#openPipe(fds: DescriptorScope, {file}: SpawnRequest): {read: number; write: number} {
		const pair: [number, number] = [0, 0];
		if (this.#libc.pipe2(pair, O_CLOEXEC) !== 0) throw spawnError(this.#libc.errno(), file);
		return {read: fds.own(pair[0]), write: fds.own(pair[1])};
	}
}

function movedError(path: string, cause?: unknown): LongarmError {
	const message = `${path} is not where it was when the sandbox was planned`;
	return new LongarmError('SPAWN_FAILED', {message, cause});
}

/** `posix_spawnattr_t` for a new session leader with no signal ignored or blocked. */
function createSessionLeaderAttributes(libc: Libc): Uint8Array {
	const attributes = Buffer.alloc(ATTRIBUTES_BYTES);
	// One bit per signal. `sigfillset` omits the signals reserved by the C library, and the child would ignore them.
	const all = Buffer.alloc(SIGNAL_SET_BYTES, 0xff);
	const none = Buffer.alloc(SIGNAL_SET_BYTES);
	libc.attributesInit(attributes);
	libc.attributesSetFlags(attributes, SETSID | SETSIGDEF | SETSIGMASK);
	libc.attributesSetSignalDefaults(attributes, all);
	libc.attributesSetSignalMask(attributes, none);
	return attributes;
}

/** File descriptors that are closed at the end of the block unless released to another owner. */
class DescriptorScope implements Disposable {
	readonly #owned = new Set<number>();

	own(fd: number): number {
		this.#owned.add(fd);
		return fd;
	}

	release(fd: number): number {
		this.#owned.delete(fd);
		return fd;
	}

	[Symbol.dispose](): void {
		for (const fd of this.#owned) closeSync(fd);
	}
}
