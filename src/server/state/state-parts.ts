import {lstatSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {ProcessStore, VERSION_FILE} from '../../processes/spill/process-store.js';
import {readTextFile, replaceFile} from '../../processes/spill/state-files.js';
import {LOCK_FILE} from '../../processes/spill/state-lock.js';
import {LongarmError} from '../../shared/errors.js';

/** Directory of all parts but the first, which is the shared directory itself: whatever hides that one hides the parts. */
const MORE = 'more';
const PART_NAME = /^\d{1,3}$/;
/** Servers of one user at the same time. */
const MAX_PARTS = 256;
/** Holds the name of the server that has used the part last. */
const SERVER_FILE = 'server';
const MAX_NAME_BYTES = 4096;

/** Paths of the parts that exist. */
export function listStateParts(shared: string): string[] {
	return [
		shared,
		...listNames(join(shared, MORE))
			.filter(name => PART_NAME.test(name))
			.map(name => join(shared, MORE, name)),
	];
}

/**
 * Opens a part of a state directory that several servers share: the one that a server of this name has used before, else one
 * that no server has a claim to, else a new one. Undefined if there is none and none may be made. Throws STATE_UNUSABLE.
 */
export function openStatePart(
	shared: string,
	name: string,
	{mayCreate}: {readonly mayCreate: boolean},
): ProcessStore | undefined {
	const parts = listStateParts(shared);
	const own = name === '' ? [] : parts.filter(part => readServerName(part) === name);
	const unclaimed = parts.filter(part => !own.includes(part) && isUnclaimed(part));
	for (const part of [...own, ...unclaimed]) {
		if (!mayCreate && !wasUsed(part)) continue;
		const store = openUnlessHeld(part);
		if (store) return claim(store, name);
	}
	return mayCreate ? claim(createPart(shared), name) : undefined;
}

/** Goes on with the part that the program before this one has locked. */
export function adoptStatePart(shared: string, lockDescriptor: number): ProcessStore {
	const parts = listStateParts(shared);
	for (const part of parts.slice(0, -1)) {
		const store = unlessHeld(() => ProcessStore.adopt(part, lockDescriptor));
		if (store) return store;
	}
	return ProcessStore.adopt(parts.at(-1)!, lockDescriptor);
}

/** Whether a server uses a state directory now, by the kernel's list of locks: to try the lock could keep its server out. */
export function isStateInUse(directory: string): boolean {
	const lock = lstatSync(join(directory, LOCK_FILE), {throwIfNoEntry: false});
	if (!lock) return false;
	try {
		return readFileSync('/proc/locks', 'latin1').includes(`:${lock.ino} `);
	} catch {
		return true;
	}
}

/** A server has used the directory before. */
export function wasUsed(directory: string): boolean {
	return lstatSync(join(directory, VERSION_FILE), {throwIfNoEntry: false}) !== undefined;
}

function createPart(shared: string): ProcessStore {
	for (let number = 2; number <= MAX_PARTS; number++) {
		const part = join(shared, MORE, `${number}`);
		const store = wasUsed(part) ? undefined : openUnlessHeld(part);
		if (store) return store;
	}
	throw new LongarmError('STATE_UNUSABLE', {
		message: `state ${shared} is used by ${MAX_PARTS} servers`,
		context: {path: shared},
	});
}

function openUnlessHeld(part: string): ProcessStore | undefined {
	return unlessHeld(() => ProcessStore.open(part));
}

/** Undefined for a directory that another server uses. */
function unlessHeld(open: () => ProcessStore): ProcessStore | undefined {
	try {
		return open();
	} catch (error) {
		if (error instanceof LongarmError && error.context['isHeld'] === true) return undefined;
		throw error;
	}
}

/** Nothing of a server with a fixed address is in it. */
function isUnclaimed(part: string): boolean {
	return readServerName(part) === '' || listNames(join(part, 'processes')).length === 0;
}

/** The name is for the next start: a disk that does not take it costs nothing else. */
function claim(store: ProcessStore, name: string): ProcessStore {
	if (readServerName(store.directory) === name) return store;
	try {
		replaceFile(join(store.directory, SERVER_FILE), name);
	} catch {}
	return store;
}

function readServerName(part: string): string {
	try {
		return readTextFile(join(part, SERVER_FILE), MAX_NAME_BYTES);
	} catch {
		return '';
	}
}

/** None for a directory that is missing or hidden, as it is inside a sandbox. */
function listNames(directory: string): string[] {
	try {
		return readdirSync(directory);
	} catch {
		return [];
	}
}
