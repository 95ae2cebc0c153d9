import {dirname, join, resolve} from 'node:path';
import type {Host} from './host.js';
import {isMountWithin} from './plan.js';
import type {Rule} from './policy.js';

/** Names below a writable root that decide what other programs run later: hooks, configuration, instructions. */
const METADATA_NAMES = ['.git', '.codex', '.agents'];
const GIT_POINTER = /^gitdir:\s*(.+?)\s*$/;

/** Rules that keep the metadata of a writable root read-only, as the peers do; what they name need not exist. */
export function listMetadataRules({path: root, optional}: Rule, host: Host): Rule[] {
	return METADATA_NAMES.map(name => join(root, name))
		.flatMap(path => [path, ...findGitDirectories(path, host)])
		.map(path => ({path, access: 'read', optional: true, isLinkTolerated: optional}));
}

/** True if a rule is about this path, or about Git's own directory that holds it. */
export function isMetadataNamed(path: string, rules: readonly Rule[]): boolean {
	return rules.some(rule => rule.path === path || (isInGitDirectory(rule.path) && isMountWithin(path, rule.path)));
}

function isInGitDirectory(path: string): boolean {
	return path.split('/').includes('.git');
}

/** Directories that a `.git` file, as in a worktree or a submodule, leads to: its own and the one it shares. */
function findGitDirectories(path: string, host: Host): string[] {
	const pointer = GIT_POINTER.exec(host.readText(path) ?? '')?.[1];
	if (pointer === undefined) return [];
	const own = resolve(dirname(path), pointer);
	const shared = host.readText(join(own, 'commondir'))?.trim();
	return shared ? [own, resolve(own, shared)] : [own];
}
