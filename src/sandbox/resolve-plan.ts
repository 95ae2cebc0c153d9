import type {Located} from './host.js';
import {type Access, accessAt, byDepth, isMountWithin, type Mount, type SandboxPlan} from './plan.js';
import {type PolicyContext, type Rule, rulesOf, type SandboxPolicy} from './policy.js';
import {unenforceable} from './refusals.js';

/** Stand in the sandbox as instances of its own, whatever the host has there. */
const OWN_TREES = ['/dev', '/proc'];
const STRENGTH: Record<Rule['access'], number> = {read: 0, write: 1, deny: 2};

type Settled = Rule & Located;

/**
 * What a policy means on this machine. Undefined when it restricts nothing. The more specific entry wins; of two about
 * the same path, deny before write before read. What could not be enforced is refused, never left out.
 */
export function resolvePlan(context: SandboxPolicy, surroundings: PolicyContext): SandboxPlan | undefined {
	const {permissions} = context;
	if (permissions.type === 'disabled') return undefined;
	const network = permissions.network === 'enabled' ? 'host' : 'none';
	if (permissions.type === 'external' || permissions.file_system.type === 'unrestricted') {
		return network === 'host' ? undefined : {mounts: [{kind: 'write', path: '/'}], network};
	}
	const {settled, missing} = settle(rulesOf(context, permissions.file_system, surroundings), surroundings);
	const plan: SandboxPlan = {mounts: withLinks(layered(settled), settled), network};
	for (const rule of missing) requireNothingToKeep(rule, plan);
	for (const rule of settled) requireFirmNames(rule, plan);
	return plan;
}

function settle(rules: readonly Rule[], {host}: PolicyContext): {settled: Settled[]; missing: Rule[]} {
	const settled: Settled[] = [];
	const missing: Rule[] = [];
	for (const rule of rules) {
		const place = host.locate(rule.path);
		if (!place.found) missing.push({...rule, path: place.path});
		else if (!isServedByOwnTree(rule, place.path)) settled.push({...rule, ...place});
	}
	return {settled, missing};
}

/** The sandbox's own `/dev` and `/proc` show nothing of the host's, so there is nothing in them to grant or to hide. */
function isServedByOwnTree({access}: Rule, path: string): boolean {
	const tree = OWN_TREES.find(own => isMountWithin(path, own));
	if (tree === undefined || (access === 'deny' && path === tree)) return false;
	if (access === 'deny' && tree === '/proc') throw unenforceable(`it cannot hide \`${path}\` alone`);
	return true;
}

/** One mount per change of access on the way down; a mount that changes nothing is left out. */
function layered(rules: readonly Settled[]): Mount[] {
	const mounts: Mount[] = [];
	for (const rule of strongest(rules)) {
		const around = accessAt({mounts, network: 'none'}, rule.path);
		if (around === accessOf(rule)) continue;
		if (rule.access === 'deny') mounts.push({kind: 'hidden', path: rule.path, of: rule.kind});
		else mounts.push({kind: rule.access, path: rule.path});
	}
	return mounts;
}

function accessOf({access}: Rule): Access {
	return access === 'deny' ? 'none' : access;
}

/** The rule that counts for every path, from the root down. */
function strongest(rules: readonly Settled[]): Settled[] {
	const byPath = new Map<string, Settled>();
	for (const rule of rules) {
		const other = byPath.get(rule.path);
		if (!other || STRENGTH[rule.access] > STRENGTH[other.access]) byPath.set(rule.path, rule);
	}
	return [...byPath.values()].sort(byDepth);
}

/** Where the host's own links are not in view, those the policy was worded with are made anew. */
function withLinks(mounts: readonly Mount[], rules: readonly Settled[]): Mount[] {
	const plan: SandboxPlan = {mounts, network: 'none'};
	const links = new Map<string, Mount>();
	for (const {path, to} of rules.flatMap(rule => (rule.access === 'deny' ? [] : rule.links))) {
		if (accessAt(plan, path) === 'none') links.set(path, {kind: 'link', path, to});
	}
	return [...mounts, ...links.values()];
}

/** A path that is not there has no mount that could protect it: whoever may write around it could make it. */
function requireNothingToKeep({path, access, optional}: Rule, plan: SandboxPlan): void {
	if (optional || access === 'write' || accessAt(plan, path) !== 'write') return;
	throw unenforceable(`\`${path}\` does not exist and could be created in a writable directory`);
}

/** What is read-only must not become something else by a change of a link that leads to it. */
function requireFirmNames({access, links}: Settled, plan: SandboxPlan): void {
	if (access !== 'read') return;
	const loose = links.find(({path}) => accessAt(plan, path) === 'write');
	if (loose)
		throw unenforceable(`\`${loose.path}\` is a symbolic link in a writable directory and cannot be kept read-only`);
}
