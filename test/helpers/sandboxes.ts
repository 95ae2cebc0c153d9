import {pathToFileURL} from 'node:url';
import type {EnforcerChoice} from '../../src/sandbox/enforcer.js';
import {Sandbox} from '../../src/sandbox/sandbox.js';

export type Entry = Record<string, unknown>;

export const root = (access: string): Entry => special({kind: 'root'}, access);
export const special = (value: object, access: string): Entry => ({path: {type: 'special', value}, access});
export const at = (path: string, access: string, more: object = {}): Entry => ({
	path: {type: 'path', path: pathToFileURL(path).href},
	access,
	...more,
});
export const glob = (pattern: string, access: string): Entry => ({path: {type: 'glob_pattern', pattern}, access});

/** A policy as clients send it. */
export function policy(entries: readonly Entry[], {network = 'restricted', ...more}: Record<string, unknown> = {}) {
	return {
		permissions: {type: 'managed', file_system: {type: 'restricted', entries}, network},
		windowsSandboxLevel: 'disabled',
		...more,
	};
}

/** The policy an upstream client sends for a writable workspace. */
export function workspacePolicy(directory: string, more: Record<string, unknown> = {}) {
	const uri = pathToFileURL(directory).href;
	const kept = ['.git', '.agents', '.codex', '.aws'].map(subpath => ({
		...special({kind: 'project_roots', subpath}, 'read'),
		missing_path_behavior: 'skip',
	}));
	const entries = [root('read'), special({kind: 'project_roots'}, 'write'), ...kept];
	return policy(entries, {cwd: uri, workspaceRoots: [uri], ...more});
}

/** Reason why sandboxes cannot be tested here; undefined when they can. */
export function noSandbox(enforcer: EnforcerChoice = 'auto'): string | undefined {
	try {
		const command = {program: 'true', args: [], arg0: undefined, cwd: '/', terminal: false, environment: new Map()};
		new Sandbox(process.env, () => [], enforcer).wrap({mounts: [{kind: 'read', path: '/'}], network: 'none'}, command);
		return undefined;
	} catch (error) {
		return (error as Error).message;
	}
}
