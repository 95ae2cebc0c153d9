import {isAbsolute, join, normalize, resolve} from 'node:path';
import type * as v from 'valibot';
import type {sandboxContext} from '../protocol/methods/sandbox-params.js';
import type {PathUri} from '../protocol/path-uri/path-uri.js';
import {errorMessage, type LongarmError} from '../shared/errors.js';
import type {Host} from './host.js';
import {invalidPolicyError, unenforceableError} from './plan.js';
import type {WrittenRoots} from './written-roots.js';

/** Policy as decoded from the wire. */
export type SandboxPolicy = v.InferOutput<typeof sandboxContext>;
type Profile = SandboxPolicy['permissions'];
type Restricted = Extract<Extract<Profile, {type: 'managed'}>['file_system'], {type: 'restricted'}>;
type Entry = Restricted['entries'][number];
type SpecialPath = Extract<Entry['path'], {type: 'special'}>['value'];

/** Access rule for one path, which may contain links or not exist. */
export interface Rule {
	readonly path: string;
	readonly access: 'read' | 'write' | 'deny';
	/** True if a path that does not exist may be left out. */
	readonly optional: boolean;
	/** True if a symbolic link to it that could be replaced is no reason to refuse the policy. */
	readonly isLinkTolerated?: boolean;
}

/** Directories of programs and libraries, for the special path `minimal`. */
export const PLATFORM_PATHS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/etc', '/opt', '/nix/store'];

/** Directory for temporary files of programs that see none of the host's. */
export const PRIVATE_TMP = '/tmp';

/** Rules of a policy, those for the matches of its globs included; no sandbox takes more mounts. */
export const MAX_POLICY_RULES = 2000;
/** Characters of all paths looked up for a policy, each path and those above it: a fraction of a second. */
export const MAX_LOOKUP_CHARACTERS = 1_000_000;

/** Facts about the process that a policy restricts. */
export interface PolicySubject {
	/** Working directory of the process, used if the policy has none. */
	readonly cwd: string | undefined;
	/** Its variable `TMPDIR`, which the special path `tmpdir` stands for; a relative one starts at `cwd`. */
	readonly temporaryDirectory: string | undefined;
}

/** Values for the special paths of a policy. */
export interface PolicyContext extends PolicySubject {
	readonly host: Host;
	/** Paths that earlier sandboxes could write, to which those of this policy are added; undefined if there were none. */
	readonly written?: WrittenRoots | undefined;
}

/** Rules of a policy, with special paths and globs expanded. */
export function expandRules(policy: SandboxPolicy, files: Restricted, context: PolicyContext): Rule[] {
	if (files.entries.length > MAX_POLICY_RULES) throw tooManyPathsError();
	const rules = files.entries.flatMap(entry => {
		const access = entry.access === 'none' ? 'deny' : entry.access;
		const optional = entry.missing_path_behavior === 'skip';
		if (entry.path.type === 'glob_pattern') {
			const depth = files.glob_scan_max_depth;
			return expandGlob(entry.path.pattern, access, depth, policy, context);
		}
		if (entry.path.type === 'path') return [{path: toPolicyPath(entry.path.path), access, optional}];
		const {paths, dynamic} = expandSpecialPath(entry.path.value, access, policy, context);
		return paths.map(path => ({path, access: limitAccess(entry, access), optional: optional || dynamic}));
	});
	if (rules.length > MAX_POLICY_RULES) throw tooManyPathsError();
	return rules;
}

/** The directories of programs and libraries are never writable, as with upstream. */
function limitAccess(entry: Entry, access: Rule['access']): Rule['access'] {
	return isMinimal(entry) && access === 'write' ? 'read' : access;
}

function isMinimal({path}: Entry): boolean {
	return path.type === 'special' && path.value.kind === 'minimal';
}

/**
 * True if a view that does not show the host's `/tmp` has one of its own: `minimal` is for programs to run, and these need
 * one. An entry about `/tmp` itself is enforced as it is.
 */
export function needsPrivateTmp({entries}: Restricted, rules: readonly Rule[]): boolean {
	const showsPlatform = entries.some(
		entry => isMinimal(entry) && (entry.access === 'read' || entry.access === 'write'),
	);
	return showsPlatform && !rules.some(({path}) => path === PRIVATE_TMP);
}

function tooManyPathsError(): LongarmError {
	return unenforceableError(`it has more than ${MAX_POLICY_RULES} paths`);
}

/** `dynamic` paths depend on the machine and need not exist. */
function expandSpecialPath(
	special: SpecialPath,
	access: Rule['access'],
	policy: SandboxPolicy,
	context: PolicyContext,
): {paths: string[]; dynamic: boolean} {
	switch (special.kind) {
		case 'root':
			return {paths: ['/'], dynamic: false};
		case 'minimal':
			return {paths: [...PLATFORM_PATHS], dynamic: true};
		case 'slash_tmp':
			return {paths: ['/tmp'], dynamic: true};
		case 'tmpdir':
			return {paths: findTemporaryDirectory(access, context), dynamic: true};
		case 'project_roots':
		case 'current_working_directory': {
			const {subpath} = special;
			return {paths: resolveProjectRoots(policy, context).map(root => joinBelowRoot(root, subpath)), dynamic: false};
		}
		case 'unknown':
			throw unenforceableError(`it does not know the special path \`${special.path}\``);
	}
}

/**
 * Grants hold for a directory only, and not for the root of the disk, which would undo the rest of the policy. The policy's
 * own `temporaryDirectories` describe the server, and upstream does not look at them either.
 */
function findTemporaryDirectory(access: Rule['access'], {cwd, temporaryDirectory, host}: PolicyContext): string[] {
	if (!temporaryDirectory || (cwd === undefined && !isAbsolute(temporaryDirectory))) return [];
	const path = resolve(cwd ?? '/', temporaryDirectory);
	if (access === 'deny') return [path];
	const place = host.locate(path);
	return place.found && place.kind === 'directory' && place.path !== '/' ? [path] : [];
}

function resolveProjectRoots(policy: SandboxPolicy, context: PolicyContext): string[] {
	const cwd = requirePolicyDirectory(policy, context);
	const roots = policy.workspaceRoots?.map(toPolicyPath) ?? [];
	return roots.length > 0 ? roots : [cwd];
}

function requirePolicyDirectory(policy: SandboxPolicy, {cwd}: PolicyContext): string {
	const directory = policy.cwd ? toPolicyPath(policy.cwd) : cwd;
	if (directory !== undefined) return directory;
	throw invalidPolicyError('file system sandbox context with dynamic permissions requires cwd');
}

function joinBelowRoot(root: string, subpath: string | undefined): string {
	if (subpath === undefined || subpath === '') return root;
	const relative = normalize(subpath);
	if (isAbsolute(relative) || relative === '..' || relative.startsWith('../')) {
		throw unenforceableError(`\`${subpath}\` does not lead below a project root`);
	}
	return join(root, relative);
}

/** Expanded once: files that match later are not covered. So a glob can only deny, and only files that exist. */
function expandGlob(
	pattern: string,
	access: Rule['access'],
	maxDepth: number | undefined,
	policy: SandboxPolicy,
	context: PolicyContext,
): Rule[] {
	if (access !== 'deny') throw unenforceableError(`it cannot grant access by the pattern \`${pattern}\``);
	if (pattern.includes('\0')) throw unenforceableError('a pattern holds a NUL byte');
	const matches = context.host.findMatches(toAbsolutePattern(pattern, policy, context), maxDepth);
	return matches.map(path => ({path, access, optional: true, isLinkTolerated: true}));
}

/** Patterns of a policy for which files have to be looked at. */
export function listPatterns({permissions, ...policy}: SandboxPolicy, context: PolicyContext): GlobScan[] {
	if (permissions.type !== 'managed' || permissions.file_system.type !== 'restricted') return [];
	const {entries, glob_scan_max_depth: maxDepth} = permissions.file_system;
	if (entries.length > MAX_POLICY_RULES) throw tooManyPathsError();
	return entries.flatMap(({path, access}) => {
		if (path.type !== 'glob_pattern' || (access !== 'none' && access !== 'deny') || path.pattern.includes('\0'))
			return [];
		return [{pattern: toAbsolutePattern(path.pattern, {permissions, ...policy}, context), maxDepth}];
	});
}

export interface GlobScan {
	readonly pattern: string;
	readonly maxDepth: number | undefined;
}

function toAbsolutePattern(pattern: string, policy: SandboxPolicy, context: PolicyContext): string {
	return isAbsolute(pattern) ? pattern : `${escapeGlob(requirePolicyDirectory(policy, context))}/${pattern}`;
}

function escapeGlob(path: string): string {
	return path.replaceAll(/[\\*?[\]{}()!+@]/g, String.raw`\$&`).replace(/\/$/, '');
}

/** Path as text, which mounts need; throws if the bytes are not UTF-8. */
export function toPolicyPath(uri: PathUri): string {
	let path: string | undefined;
	try {
		path = uri.toNativeString(process.platform);
	} catch (error) {
		const reason = errorMessage(error);
		throw invalidPolicyError(`invalid sandbox permission path URI: ${reason}`);
	}
	if (path === undefined) throw unenforceableError(`the path of \`${uri.href}\` is not UTF-8`);
	return resolve(path);
}
