// Linux only: calls of Linux 5.12 or later.
import {existsSync, lstatSync} from 'node:fs';
import {dirname} from 'node:path';
import {MASKED_PROC_FILES, READ_ONLY_PROC_ENTRIES} from '../bubblewrap.js';
import {isMountWithin, type Mount, OWN_DEVICE_DIRECTORIES, OWN_DEVICES, OWN_TREES, type SandboxPlan} from '../plan.js';
import type {CallList, Cell} from './call-list.js';
import {AT_EMPTY_PATH, AT_FDCWD, AT_RECURSIVE, O_CLOEXEC, O_PATH_ONLY, O_WRONLY} from './system-calls.js';

const OPEN_TREE_CLONE = 1;
const MOVE_MOUNT_EMPTY_PATHS = 0x44;
const MOUNT_ATTRIBUTES_BYTES = 32;
const OPEN_HOW_BYTES = 24;
const RESOLVE_NO_LINKS = 0x06;
const FSOPEN_CLOEXEC = 1;
const FSMOUNT_CLOEXEC = 1;
const FSCONFIG_SET_STRING = 1;
const FSCONFIG_CMD_CREATE = 6;
const MS_REC = 0x4000;
const MS_PRIVATE = 1 << 18;
const MNT_DETACH = 2;
const S_IFREG = 0o100000;
const PATH_MAX_BYTES = 4096;

const READ_ONLY = 1;
const NO_SETUID = 2;
const NO_DEVICES = 4;
const NO_EXECUTION = 8;

const DEVICE_LINKS = {
	fd: '/proc/self/fd',
	stdin: '/proc/self/fd/0',
	stdout: '/proc/self/fd/1',
	stderr: '/proc/self/fd/2',
	core: '/proc/kcore',
	ptmx: 'pts/ptmx',
};
/** Covered by the new view until that becomes the root; nothing below it is ever taken from the host. */
const STAGING_PATH = '/proc';
/** Where the file for hidden ones is until these have been mounted. */
const HIDDEN_FILE = '/dev/.longarm-hidden';

/**
 * Adds the calls that make the view of a plan and enter it, as the first process of new mount and process namespaces. The
 * tree of the host is gone afterwards. Paths are never looked up through a symbolic link: one that is put in their place
 * meanwhile makes the start fail.
 */
export function addViewCalls(calls: CallList, plan: SandboxPlan, hasTerminal: boolean): void {
	new ViewBuilder(calls).build(plan, hasTerminal);
}

class ViewBuilder {
	readonly #calls: CallList;
	/** Descriptors of the new root, a mount that is not in its place yet, others for a moment, and the hidden file. */
	readonly #root: Cell;
	readonly #tree: Cell;
	readonly #target: Cell;
	readonly #hidden: Cell;
	readonly #how: number;
	readonly #empty: number;
	readonly #attributes = new Map<number, number>();

	constructor(calls: CallList) {
		this.#calls = calls;
		[this.#root, this.#tree, this.#target] = [calls.cell(), calls.cell(), calls.cell()];
		this.#hidden = calls.cell();
		this.#how = calls.words([O_PATH_ONLY | O_CLOEXEC, 0, RESOLVE_NO_LINKS]);
		this.#empty = calls.text('');
	}

	build(plan: SandboxPlan, hasTerminal: boolean): void {
		const {mounts} = plan;
		const hasRoot = mounts[0]?.path === '/';
		const oldMask = this.#calls.cell();
		this.#calls.attempt('umask', [0], {result: oldMask});
		const terminal = hasTerminal ? this.#findTerminal() : undefined;
		// Nothing that is mounted on the host later may appear inside, where it would not be read-only.
		this.#calls.require('keep mounts private', 'mount', [0, this.#calls.text('/'), 0, MS_REC | MS_PRIVATE, 0]);
		this.#makeRoot(hasRoot ? mounts[0]! : undefined);
		for (const path of OWN_TREES) this.#makeDirectories(path, mounts);
		this.#makeDevices(terminal);
		this.#makeProcesses();
		const hidesFiles = mounts.some(isHiddenFile);
		if (hidesFiles) this.#makeHiddenFile();
		for (const mount of hasRoot ? mounts.slice(1) : mounts) this.#addMount(mount, mounts);
		if (hidesFiles) this.#calls.attempt('unlinkat', [this.#root, this.#relative(HIDDEN_FILE), 0]);
		// Last, since mount points are made inside of these.
		for (const mount of mounts) if (isPassedThrough(mount, mounts)) this.#makeReadOnly(mount.path);
		if (!hasRoot) this.#setAttributes(this.#root, READ_ONLY, 'make the root read-only', AT_EMPTY_PATH);
		this.#enter();
		this.#calls.attempt('umask', [oldMask]);
	}

	/** Address of the path of the terminal, found while the host's `/proc` can be seen. */
	#findTerminal(): number {
		const path = this.#calls.bytes(Buffer.alloc(PATH_MAX_BYTES));
		this.#calls.require('find the terminal', 'readlink', [
			this.#calls.text('/proc/self/fd/0'),
			path,
			PATH_MAX_BYTES - 1,
		]);
		return path;
	}

	#makeRoot(mount: Mount | undefined): void {
		if (mount) this.#cloneTree(mount.path, mount.kind === 'write' ? 0 : READ_ONLY, this.#root);
		else this.#makeFileSystem('tmpfs', {mode: '755'}, NO_SETUID | NO_DEVICES, this.#root);
		const staging = this.#calls.text(STAGING_PATH);
		const label = 'mount the new root';
		this.#calls.require(label, 'openat2', [AT_FDCWD, staging, this.#how, OPEN_HOW_BYTES], {result: this.#target});
		this.#move(this.#root, label);
	}

	#makeDevices(terminal: number | undefined): void {
		this.#makeFileSystem('tmpfs', {mode: '755'}, NO_SETUID | NO_DEVICES);
		this.#attach('/dev');
		for (const name of OWN_DEVICES) {
			this.#makeFile(`/dev/${name}`);
			this.#cloneTree(`/dev/${name}`, 0, this.#tree, NO_SETUID);
			this.#attach(`/dev/${name}`);
		}
		for (const [name, to] of Object.entries(DEVICE_LINKS)) this.#makeLink(`/dev/${name}`, to);
		for (const name of OWN_DEVICE_DIRECTORIES) this.#makeDirectory(`/dev/${name}`);
		this.#makeFileSystem('devpts', {ptmxmode: '666', mode: '620'}, NO_SETUID | NO_EXECUTION);
		this.#attach('/dev/pts');
		if (terminal === undefined) return;
		this.#makeFile('/dev/console');
		this.#cloneTree(terminal, 0, this.#tree, NO_SETUID);
		this.#attach('/dev/console');
	}

	#makeProcesses(): void {
		this.#makeFileSystem('proc', {}, NO_SETUID | NO_DEVICES | NO_EXECUTION);
		this.#attach('/proc');
		this.#forbidUserNamespaces();
		const {readOnly, masked} = findProcEntries();
		for (const path of readOnly) this.#cover(path);
		for (const path of masked) this.#mask(path);
	}

	/** A setting of the new user namespace, which nobody inside has the capability to change. */
	#forbidUserNamespaces(): void {
		const path = this.#calls.text('proc/sys/user/max_user_namespaces');
		const label = 'forbid user namespaces';
		this.#calls.require(label, 'openat', [this.#root, path, O_WRONLY | O_CLOEXEC], {result: this.#target});
		this.#calls.require(label, 'write', [this.#target, this.#calls.text('0'), 1]);
		this.#calls.attempt('close', [this.#target]);
	}

	#addMount(mount: Mount, all: readonly Mount[]): void {
		const {path} = mount;
		if (mount.kind !== 'link') this.#makeDirectories(dirname(path), all);
		switch (mount.kind) {
			case 'read':
			case 'write':
			case 'pin':
				if (isOwnTree(dirname(path), all)) this.#makeMountPoint(path);
				this.#cloneTree(path, mount.kind === 'read' ? READ_ONLY : 0);
				return this.#attach(path);
			case 'link':
				this.#makeDirectories(dirname(path), all);
				return this.#makeLink(path, mount.to);
			case 'private':
				this.#makeDirectory(path);
				this.#makeFileSystem('tmpfs', {mode: '1777'}, NO_SETUID | NO_DEVICES);
				return this.#attach(path);
			case 'hidden':
				return isHiddenFile(mount) ? this.#hideFile(path) : this.#hideDirectory(mount, all);
		}
	}

	/** Makes the file that is mounted over every hidden one: without content and without a mode that lets it be opened. */
	#makeHiddenFile(): void {
		const label = 'make a hidden file';
		const path = this.#relative(HIDDEN_FILE);
		this.#calls.require(label, 'mknodat', [this.#root, path, S_IFREG, 0]);
		// By descriptor from now on: the policy may hide `/dev`.
		this.#calls.require(label, 'openat2', [this.#root, path, this.#how, OPEN_HOW_BYTES], {result: this.#hidden});
	}

	#hideFile(path: string): void {
		const label = `hide ${path}`;
		const flags = AT_EMPTY_PATH | OPEN_TREE_CLONE | O_CLOEXEC;
		this.#calls.require(label, 'open_tree', [this.#hidden, this.#empty, flags], {result: this.#tree});
		this.#setAttributes(this.#tree, READ_ONLY | NO_SETUID | NO_DEVICES, label);
		this.#attach(path);
	}

	#hideDirectory(mount: Mount, all: readonly Mount[]): void {
		const isPassed = isPassedThrough(mount, all);
		const attributes = NO_SETUID | NO_DEVICES | (isPassed ? 0 : READ_ONLY);
		this.#makeFileSystem('tmpfs', {mode: isPassed ? '111' : '0'}, attributes);
		this.#attach(mount.path);
	}

	/** A device on a mount without devices cannot be opened by any user. */
	#mask(path: string): void {
		this.#cloneTree('/dev/null', READ_ONLY);
		this.#attach(path);
	}

	/** Mounts a directory of the view on itself, read-only. */
	#cover(path: string): void {
		const label = `mount ${path}`;
		const flags = OPEN_TREE_CLONE | O_CLOEXEC | AT_RECURSIVE;
		this.#calls.require(label, 'open_tree', [this.#root, this.#relative(path), flags], {result: this.#tree});
		this.#setAttributes(this.#tree, READ_ONLY | NO_SETUID | NO_DEVICES, label);
		this.#attach(path);
	}

	#makeReadOnly(path: string): void {
		this.#openTarget(path);
		this.#setAttributes(this.#target, READ_ONLY, `make ${path} read-only`, AT_EMPTY_PATH);
		this.#calls.attempt('close', [this.#target]);
	}

	/** Opens a copy of a tree of the host; a number is the address of its path. */
	#cloneTree(path: string | number, more: number, into = this.#tree, basic = NO_SETUID | NO_DEVICES): void {
		const address = typeof path === 'number' ? path : this.#calls.text(path);
		const label = `open ${typeof path === 'number' ? 'the terminal' : path}`;
		this.#calls.require(label, 'openat2', [AT_FDCWD, address, this.#how, OPEN_HOW_BYTES], {result: this.#target});
		const flags = AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | O_CLOEXEC;
		this.#calls.require(label, 'open_tree', [this.#target, this.#empty, flags], {result: into});
		this.#calls.attempt('close', [this.#target]);
		this.#setAttributes(into, basic | more, label);
	}

	#makeFileSystem(type: string, options: Record<string, string>, attributes: number, into = this.#tree): void {
		const label = `make a file system of type ${type}`;
		const context = this.#target;
		this.#calls.require(label, 'fsopen', [this.#calls.text(type), FSOPEN_CLOEXEC], {result: context});
		for (const [name, value] of Object.entries(options)) {
			const words = [this.#calls.text(name), this.#calls.text(value), 0];
			this.#calls.require(label, 'fsconfig', [context, FSCONFIG_SET_STRING, ...words]);
		}
		this.#calls.require(label, 'fsconfig', [context, FSCONFIG_CMD_CREATE, 0, 0, 0]);
		this.#calls.require(label, 'fsmount', [context, FSMOUNT_CLOEXEC, attributes], {result: into});
		this.#calls.attempt('close', [context]);
	}

	#setAttributes(mount: Cell, attributes: number, label: string, flags = AT_EMPTY_PATH | AT_RECURSIVE): void {
		const address = this.#attributes.get(attributes) ?? this.#calls.words([attributes, 0, 0, 0]);
		this.#attributes.set(attributes, address);
		this.#calls.require(label, 'mount_setattr', [mount, this.#empty, flags, address, MOUNT_ATTRIBUTES_BYTES]);
	}

	/** Puts the open mount in its place. */
	#attach(path: string): void {
		this.#openTarget(path);
		this.#move(this.#tree, `mount ${path}`);
		this.#calls.attempt('close', [this.#tree]);
	}

	#move(mount: Cell, label: string): void {
		const args = [mount, this.#empty, this.#target, this.#empty, MOVE_MOUNT_EMPTY_PATHS];
		this.#calls.require(label, 'move_mount', args);
		this.#calls.attempt('close', [this.#target]);
	}

	#openTarget(path: string): void {
		const args = [this.#root, this.#relative(path), this.#how, OPEN_HOW_BYTES];
		this.#calls.require(`find ${path}`, 'openat2', args, {result: this.#target});
	}

	/** Makes the directories of a path, down from the first that is in a file system of the sandbox's own. */
	#makeDirectories(path: string, mounts: readonly Mount[]): void {
		if (path === '/' || !isOwnTree(path, mounts)) return;
		this.#makeDirectories(dirname(path), mounts);
		this.#makeDirectory(path);
	}

	#makeMountPoint(path: string): void {
		if (lstatSync(path).isDirectory()) this.#makeDirectory(path);
		else this.#makeFile(path);
	}

	// Done in file systems of the sandbox's own only, in which nobody else can put links. One that exists stays.

	#makeDirectory(path: string): void {
		this.#calls.attempt('mkdirat', [this.#root, this.#relative(path), 0o755]);
	}

	#makeFile(path: string): void {
		this.#calls.attempt('mknodat', [this.#root, this.#relative(path), S_IFREG | 0o444, 0]);
	}

	#makeLink(path: string, to: string): void {
		const args = [this.#calls.text(to), this.#root, this.#relative(path)];
		this.#calls.require(`link ${path}`, 'symlinkat', args);
	}

	#relative(path: string): number {
		return this.#calls.text(path.slice(1));
	}

	#enter(): void {
		const [label, here] = ['enter the new root', this.#calls.text('.')];
		this.#calls.require(label, 'fchdir', [this.#root]);
		this.#calls.require(label, 'pivot_root', [here, here]);
		this.#calls.require(label, 'umount2', [here, MNT_DETACH]);
		this.#calls.attempt('close', [this.#root]);
	}
}

let procEntries: {readonly readOnly: readonly string[]; readonly masked: readonly string[]} | undefined;

/** Entries of `/proc` to be covered that this kernel has; they do not change while it runs. */
function findProcEntries() {
	procEntries ??= {
		readOnly: READ_ONLY_PROC_ENTRIES.map(name => `/proc/${name}`).filter(path => existsSync(path)),
		masked: MASKED_PROC_FILES.filter(path => existsSync(path)),
	};
	return procEntries;
}

function isHiddenFile(mount: Mount): boolean {
	return mount.kind === 'hidden' && mount.fileType === 'file';
}

/** True for a hidden directory with mounts below it. */
function isPassedThrough(mount: Mount, all: readonly Mount[]): boolean {
	if (mount.kind !== 'hidden' || mount.fileType !== 'directory') return false;
	return all.some(({path}) => path !== mount.path && isMountWithin(path, mount.path));
}

/** True if the view shows nothing of the host at a path, so that mount points have to be made there. */
function isOwnTree(path: string, mounts: readonly Mount[]): boolean {
	const covering = mounts.findLast(({kind, path: at}) => kind !== 'link' && kind !== 'pin' && isMountWithin(path, at));
	return covering === undefined || covering.kind === 'hidden' || covering.kind === 'private';
}
