// Linux only.
import {type Dirent, readdirSync} from 'node:fs';
import {join} from 'node:path';
import {HIDDEN_SYSTEM_PATHS} from '../hide-paths.js';
import {accessAt, isMountWithin, type Mount, OWN_DEVICES, type SandboxPlan, unenforceableError} from '../plan.js';
import {FILE_READ_RIGHTS, grantAt, LIST_RIGHTS, type PathGrant, READ_RIGHTS, WRITE_RIGHTS} from './landlock-calls.js';

/** Most rules for one start. */
const MAX_GRANTS = 4096;

/**
 * Rights that amount to a plan, on the files of the host itself. Rights hold for everything below a directory and cannot be
 * taken away again, so a plan with something protected or hidden below something it allows is refused. A single file, or
 * one of the system's, is left out of a readable directory by naming everything else: entries that are added to the
 * directories above it later cannot be read.
 */
export function resolveGrants(plan: SandboxPlan): PathGrant[] {
	const isRoot = process.geteuid!() === 0;
	const omitted = ['/dev'];
	const hiddenDevices: string[] = [];
	for (const mount of plan.mounts) {
		const inherited = accessAt({...plan, mounts: plan.mounts.filter(each => each !== mount)}, mount.path);
		if (mount.kind === 'read' && inherited === 'write') throw belowWritableError(mount.path, 'kept read-only');
		if (mount.kind === 'hidden' && inherited !== 'write' && isMountWithin(mount.path, '/dev'))
			hiddenDevices.push(mount.path);
		else if (mount.kind === 'hidden' && isOmitted(mount, inherited, isRoot)) omitted.push(mount.path);
	}
	if (isRoot && accessAt(plan, '/proc') === 'write') {
		throw unenforceableError('Landlock cannot keep root from changing the settings of the kernel in `/proc`');
	}
	const granted = plan.mounts.flatMap(({kind, path}) => {
		if (kind === 'write') return [grantAt(path, WRITE_RIGHTS)];
		return kind === 'read' ? grantReading(path, omitted) : [];
	});
	// Other devices, and shared memory, belong to the whole machine.
	const devices = OWN_DEVICES.map(name => `/dev/${name}`)
		.filter(path => !hiddenDevices.some(hidden => isMountWithin(path, hidden)))
		.map(path => ({path, rights: WRITE_RIGHTS, isDirectory: false}));
	const grants = [...granted, grantAt('/proc', READ_RIGHTS), ...devices];
	if (grants.length > MAX_GRANTS)
		throw unenforceableError('there are too many files beside those Landlock has to hide');
	return grants;
}

/** True if a hidden path can be left out of what is granted, false if nobody needs to. Throws if it cannot be. */
function isOmitted(mount: Mount & {kind: 'hidden'}, inherited: string, isRoot: boolean): boolean {
	const isOfSystem = HIDDEN_SYSTEM_PATHS.includes(mount.path);
	// A policy that allows all files allows these, as far as their modes do.
	if (isOfSystem && inherited === 'write' && !isRoot) return false;
	if (inherited === 'write') throw belowWritableError(mount.path, 'hidden');
	if (mount.fileType === 'directory' && !isOfSystem) {
		throw unenforceableError(`Landlock cannot hide the directory \`${mount.path}\` below a readable one`);
	}
	return true;
}

/** One rule, or rules for everything beside what is omitted below it. Names can be listed all the same. */
function grantReading(path: string, omitted: readonly string[]): PathGrant[] {
	if (omitted.includes(path)) return [];
	if (!omitted.some(each => isMountWithin(each, path))) return [grantAt(path, READ_RIGHTS)];
	const list: PathGrant = {path, rights: LIST_RIGHTS, isDirectory: true};
	return [list, ...grantEntries(path, omitted)];
}

function grantEntries(directory: string, omitted: readonly string[]): PathGrant[] {
	return readEntries(directory).flatMap((entry): PathGrant[] => {
		const path = join(directory, entry.name);
		// The target of a link has rights of its own.
		if (omitted.includes(path) || entry.isSymbolicLink()) return [];
		if (omitted.some(each => isMountWithin(each, path))) return grantEntries(path, omitted);
		return [{path, rights: FILE_READ_RIGHTS, isDirectory: entry.isDirectory(), isOptional: true}];
	});
}

function readEntries(directory: string): Dirent[] {
	try {
		return readdirSync(directory, {withFileTypes: true});
	} catch {
		// It has gone, or this user may not list it: nothing in it is granted.
		return [];
	}
}

function belowWritableError(path: string, how: string): Error {
	return unenforceableError(`\`${path}\` has to be ${how} below a writable directory, which Landlock cannot do`);
}
