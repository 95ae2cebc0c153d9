import {isAbsolute, join, normalize, resolve} from 'node:path';
import type * as v from 'valibot';
import type {sandboxContext} from '../protocol/methods/sandbox-params.js';
import type {PathUri} from '../protocol/path-uri/path-uri.js';
import {errorMessage} from '../shared/errors.js';
import type {Host} from './host.js';
import {incomplete, unenforceable} from './refusals.js';

/** A policy as it comes over the wire. */
export type SandboxPolicy = v.InferOutput<typeof sandboxContext>;
type Profile = SandboxPolicy['permissions'];
type Restricted = Extract<Extract<Profile, {type: 'managed'}>['file_system'], {type: 'restricted'}>;
type Entry = Restricted['entries'][number];
type SpecialPath = Extract<Entry['path'], {type: 'special'}>['value'];

/** One entry of a policy about one path, which may have links in it or not exist. */
export interface Rule {
	readonly path: string;
	readonly access: 'read' | 'write' | 'deny';
	/** Whether a path that is not there may be left out. */
	readonly optional: boolean;
}

/** What programs and their libraries are made of; read-only. */
export const PLATFORM_PATHS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/etc', '/opt', '/nix/store'];

/** What symbolic entries stand for on this machine. */
export interface PolicyContext {
	/** Of the process, when the policy has none of its own. */
	readonly cwd: string | undefined;
	readonly host: Host;
}

/** The entries of a policy with everything symbolic spelled out. */
export function rulesOf(context: SandboxPolicy, files: Restricted, surroundings: PolicyContext): Rule[] {
	return files.entries.flatMap(entry => {
		const access = entry.access === 'none' ? 'deny' : entry.access;
		const optional = entry.missing_path_behavior === 'skip';
		if (entry.path.type === 'glob_pattern') {
			const depth = files.glob_scan_max_depth;
			return globbed(entry.path.pattern, access, depth, context, surroundings);
		}
		const {paths, dynamic} =
			entry.path.type === 'path'
				? {paths: [policyPath(entry.path.path)], dynamic: false}
				: spelledOut(entry.path.value, context, surroundings);
		return paths.map(path => ({path, access, optional: optional || dynamic}));
	});
}

/** `dynamic` paths name what the machine offers, which need not be there. */
function spelledOut(
	special: SpecialPath,
	context: SandboxPolicy,
	surroundings: PolicyContext,
): {paths: string[]; dynamic: boolean} {
	switch (special.kind) {
		case 'root':
			return {paths: ['/'], dynamic: false};
		case 'minimal':
			return {paths: [...PLATFORM_PATHS], dynamic: true};
		case 'slash_tmp':
			return {paths: ['/tmp'], dynamic: true};
		case 'tmpdir': {
			const own = surroundings.host.temporaryDirectory;
			const told = context.temporaryDirectories?.map(policyPath);
			return {paths: told ?? (own === undefined ? [] : [own]), dynamic: true};
		}
		case 'project_roots':
		case 'current_working_directory': {
			const {subpath} = special;
			return {paths: projectRoots(context, surroundings).map(root => below(root, subpath)), dynamic: false};
		}
		case 'unknown':
			throw unenforceable(`it does not know the special path \`${special.path}\``);
	}
}

function projectRoots(context: SandboxPolicy, surroundings: PolicyContext): string[] {
	const cwd = policyDirectory(context, surroundings);
	const roots = context.workspaceRoots?.map(policyPath) ?? [];
	return roots.length > 0 ? roots : [cwd];
}

function policyDirectory(context: SandboxPolicy, {cwd}: PolicyContext): string {
	const own = context.cwd ? policyPath(context.cwd) : cwd;
	if (own === undefined) throw incomplete('file system sandbox context with dynamic permissions requires cwd');
	return own;
}

function below(root: string, subpath: string | undefined): string {
	if (subpath === undefined || subpath === '') return root;
	const relative = normalize(subpath);
	if (isAbsolute(relative) || relative === '..' || relative.startsWith('../')) {
		throw unenforceable(`\`${subpath}\` does not lead below a project root`);
	}
	return join(root, relative);
}

/** What matches later is not covered, so only a refusal can be made of a glob, and only of what is there. */
function globbed(
	pattern: string,
	access: Rule['access'],
	maxDepth: number | undefined,
	context: SandboxPolicy,
	surroundings: PolicyContext,
): Rule[] {
	if (access !== 'deny') throw unenforceable(`it cannot grant access by the pattern \`${pattern}\``);
	if (pattern.includes('\0')) throw unenforceable('a pattern holds a NUL byte');
	const absolute = isAbsolute(pattern) ? pattern : `${escaped(policyDirectory(context, surroundings))}/${pattern}`;
	return surroundings.host.matches(absolute, maxDepth).map(path => ({path, access, optional: true}));
}

function escaped(path: string): string {
	return path.replaceAll(/[\\*?[\]{}()!+@]/g, String.raw`\$&`).replace(/\/$/, '');
}

/** Mounts are given as text, which a path need not be. */
export function policyPath(uri: PathUri): string {
	let path: string | undefined;
	try {
		path = uri.toNativeString(process.platform);
	} catch (error) {
		const reason = errorMessage(error);
		throw incomplete(`invalid sandbox permission path URI: ${reason}`);
	}
	if (path === undefined) throw unenforceable(`the path of \`${uri.href}\` is not UTF-8`);
	return resolve(path);
}
