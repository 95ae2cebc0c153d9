// Linux only.
import {lstatSync} from 'node:fs';
import type {CallList} from './call-list.js';
import {AT_FDCWD, O_CLOEXEC, O_PATH_ONLY} from './system-calls.js';

/** Rights of Landlock by bit, of its first version and then of the version that brought each. */
const EXECUTE = 1;
const WRITE_FILE = 1 << 1;
const READ_FILE = 1 << 2;
const READ_DIRECTORY = 1 << 3;
const REMOVE_AND_MAKE = 0x1ff << 4;
const REFER = 1 << 13;
const TRUNCATE = 1 << 14;
const IOCTL_DEVICE = 1 << 15;
const IOCTL_DEVICE_VERSION = 5;
const NETWORK_VERSION = 4;
export const SCOPE_VERSION = 6;
/** Without `TRUNCATE` files that may only be read could be emptied, and without `REFER` none could be moved. */
export const MIN_LANDLOCK_VERSION = 3;

/** The right to read files, run them and list directories. */
export const READ_RIGHTS = EXECUTE | READ_FILE | READ_DIRECTORY;
/** To list directories only. */
export const LIST_RIGHTS = READ_DIRECTORY;
/** To read files and run them, without listing. */
export const FILE_READ_RIGHTS = EXECUTE | READ_FILE;
/** Everything. */
export const WRITE_RIGHTS = READ_RIGHTS | WRITE_FILE | REMOVE_AND_MAKE | REFER | TRUNCATE | IOCTL_DEVICE;
const RIGHTS_OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE;

const TCP_BIND_AND_CONNECT = 3;
const SCOPE_ABSTRACT_SOCKETS = 1;
const SCOPE_SIGNALS = 2;
const CREATE_RULESET_VERSION = 1;
const RULE_PATH_BENEATH = 1;
const RULESET_BYTES: readonly (readonly [version: number, bytes: number])[] = [
	[SCOPE_VERSION, 24],
	[NETWORK_VERSION, 16],
	[1, 8],
];
const RULE_DESCRIPTOR_OFFSET = 8;
const OPEN_HOW_BYTES = 24;
const RESOLVE_NO_LINKS = 0x06;

/** Rights at a file, or at a directory and everything below it. */
export interface PathGrant {
	readonly path: string;
	readonly rights: number;
	readonly isDirectory: boolean;
	/** True if it may have gone meanwhile. */
	readonly isOptional?: boolean;
}

export interface Restriction {
	/** Version of Landlock in this kernel. */
	readonly version: number;
	readonly grants: readonly PathGrant[];
	/** Takes TCP and the abstract sockets of others, where the version can. */
	readonly deniesNetwork: boolean;
	/** Takes signals to processes outside, where the version can. */
	readonly confinesSignals: boolean;
}

/** Adds a call that ends with the version of Landlock as the exit code, or with another one above 100. */
export function addVersionCalls(calls: CallList): void {
	const version = calls.cell();
	calls.attempt('landlock_create_ruleset', [0, 0, CREATE_RULESET_VERSION], {result: version});
	calls.attempt('exit_group', [version]);
}

/** Adds the calls that leave this process and its descendants nothing but the grants. They need `no_new_privs`. */
export function addLandlockCalls(
	calls: CallList,
	{version, grants, deniesNetwork, confinesSignals}: Restriction,
): void {
	const label = 'restrict itself by Landlock';
	const known = version < IOCTL_DEVICE_VERSION ? WRITE_RIGHTS & ~IOCTL_DEVICE : WRITE_RIGHTS;
	const scopes = (deniesNetwork ? SCOPE_ABSTRACT_SOCKETS : 0) | (confinesSignals ? SCOPE_SIGNALS : 0);
	const ruleset = calls.cell();
	const attributes = calls.words([known, deniesNetwork ? TCP_BIND_AND_CONNECT : 0, scopes]);
	const [, bytes] = RULESET_BYTES.find(([since]) => version >= since)!;
	calls.require(label, 'landlock_create_ruleset', [attributes, bytes, 0], {result: ruleset});
	const how = calls.words([O_PATH_ONLY | O_CLOEXEC, 0, RESOLVE_NO_LINKS]);
	for (const {path, rights, isDirectory, isOptional} of grants) {
		const rule = calls.words([rights & known & (isDirectory ? -1 : RIGHTS_OF_FILES), 0]);
		const file = {cell: rule + RULE_DESCRIPTOR_OFFSET};
		const open = [AT_FDCWD, calls.text(path), how, OPEN_HOW_BYTES] as const;
		const add = [ruleset, RULE_PATH_BENEATH, rule, 0] as const;
		if (isOptional) {
			calls.attempt('openat2', open, {result: file});
			calls.attempt('landlock_add_rule', add);
		} else {
			calls.require(`open ${path}`, 'openat2', open, {result: file});
			calls.require(`grant ${path}`, 'landlock_add_rule', add);
		}
		calls.attempt('close', [file]);
	}
	// A terminal or `/dev/null` of the host may be opened again by its descriptor; pipes need no rule and get none.
	const input = calls.words([known & RIGHTS_OF_FILES, 0]);
	calls.attempt('landlock_add_rule', [ruleset, RULE_PATH_BENEATH, input, 0]);
	calls.require(label, 'landlock_restrict_self', [ruleset, 0]);
	calls.attempt('close', [ruleset]);
}

/** Rights at a path that exists. */
export function grantAt(path: string, rights: number): PathGrant {
	return {path, rights, isDirectory: lstatSync(path).isDirectory()};
}
