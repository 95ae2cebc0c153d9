import type {LocatedPath} from './host.js';
import {
	type Access,
	accessAt,
	compareByDepth,
	isMountWithin,
	type Mount,
	nearestAccess,
	OWN_DEVICE_DIRECTORIES,
	OWN_DEVICES,
	OWN_TREES,
	type SandboxPlan,
	unenforceableError,
} from './plan.js';
import {
	expandRules,
	needsPrivateTmp,
	type PolicyContext,
	PRIVATE_TMP,
	type Rule,
	type SandboxPolicy,
} from './policy.js';
import {isMetadataNamed, listMetadataRules} from './project-metadata.js';

/** Paths below the sandbox's own trees that can be hidden one by one. */
const OWN_PATHS: ReadonlySet<string> = new Set([...OWN_DEVICES, ...OWN_DEVICE_DIRECTORIES].map(name => `/dev/${name}`));
/** Paths there that cannot: the one is a link, the other the terminal. */
const FIXED_PATHS: ReadonlySet<string> = new Set(['/dev/ptmx', '/dev/console']);
const PRECEDENCE: Record<Rule['access'], number> = {read: 0, write: 1, deny: 2};

type LocatedRule = Rule & LocatedPath;

/**
 * Resolves a policy on this machine; undefined if it restricts nothing. The more specific entry wins; of two about the
 * same path, deny before write before read. An entry that cannot be enforced is refused, never left out.
 */
export function resolvePlan(policy: SandboxPolicy, context: PolicyContext): SandboxPlan | undefined {
	const {permissions} = policy;
	if (permissions.type === 'disabled') return undefined;
	const network = permissions.network === 'enabled' ? 'host' : 'none';
	if (permissions.type === 'external' || permissions.file_system.type === 'unrestricted') {
		return network === 'host' ? undefined : {mounts: [{kind: 'write', path: '/'}], network};
	}
	const rules = expandRules(policy, permissions.file_system, context);
	const {located: named, missing} = locateRules(rules, context);
	const located = [...named, ...locateMetadata(named, context)];
	const mounts = addLinks(layerMounts(located), located);
	const hasPrivateTmp = needsPrivateTmp(permissions.file_system, rules);
	const plan: SandboxPlan = {mounts: hasPrivateTmp ? addPrivateTmp(mounts) : mounts, network};
	for (const rule of missing) refuseCreatablePath(rule, plan);
	const fixed: SandboxPlan = {mounts: layerMounts(located.filter(({links}) => links.length === 0)), network};
	for (const rule of located) {
		// A grant that holds without the link gives nothing away, wherever the link leads later.
		const isGranted = rule.access !== 'deny' && accessAt(fixed, rule.path) === rule.access;
		if (!isGranted) refuseReplaceableLink(rule, plan, context);
	}
	context.written?.add(plan);
	return plan;
}

function locateRules(rules: readonly Rule[], {host}: PolicyContext): {located: LocatedRule[]; missing: Rule[]} {
	const located: LocatedRule[] = [];
	const missing: Rule[] = [];
	for (const rule of rules) {
		const resolved = host.locate(rule.path);
		if (!resolved.found) missing.push({...rule, path: resolved.path});
		else if (!isProvidedBySandbox(rule, resolved.path)) located.push({...rule, ...resolved});
	}
	return {located, missing};
}

/**
 * Rules for the metadata of writable roots that the policy does not name. They only take access away: a link or a pointer
 * file, which anyone may have written, leads to what the policy allows already or to nothing.
 */
function locateMetadata(named: readonly LocatedRule[], context: PolicyContext): LocatedRule[] {
	const plan: SandboxPlan = {mounts: layerMounts(named), network: 'none'};
	const roots = named.filter(({access, kind}) => access === 'write' && kind === 'directory');
	const rules = roots.flatMap(root => listMetadataRules(root, context.host));
	const {located} = locateRules(rules, context);
	return located.filter(rule => {
		if (isMetadataNamed(rule.path, named)) return false;
		refuseReplaceableLink(rule, plan, context);
		return accessAt(plan, rule.path) === 'write';
	});
}

/** The sandbox's own `/dev` and `/proc` show nothing else of the host's, so there is nothing in them to grant. */
function isProvidedBySandbox({access}: Rule, path: string): boolean {
	const tree = findOwnTree(path);
	if (tree === undefined || (access === 'deny' && (path === tree || OWN_PATHS.has(path)))) return false;
	if (access === 'deny' && (tree === '/proc' || FIXED_PATHS.has(path))) {
		throw unenforceableError(`it cannot hide \`${path}\` alone`);
	}
	return true;
}

function findOwnTree(path: string): string | undefined {
	return OWN_TREES.find(own => isMountWithin(path, own));
}

/** One mount per change of access from the root down; a mount that changes nothing is left out. */
function layerMounts(rules: readonly LocatedRule[]): Mount[] {
	const mounts: Mount[] = [];
	const accesses = new Map<string, Access>();
	for (const rule of selectStrongest(rules)) {
		// The sandbox's own trees are there even if the view shows nothing around them.
		const tree = findOwnTree(rule.path);
		const isShown = tree !== undefined && !accesses.has(tree);
		if (!isShown && nearestAccess(accesses, rule.path) === toAccess(rule)) continue;
		accesses.set(rule.path, toAccess(rule));
		if (rule.access === 'deny') mounts.push({kind: 'hidden', path: rule.path, fileType: rule.kind});
		else mounts.push({kind: rule.access, path: rule.path});
	}
	return mounts;
}

function toAccess({access}: Rule): Access {
	return access === 'deny' ? 'none' : access;
}

/** The rule that applies to each path, parents first. */
function selectStrongest(rules: readonly LocatedRule[]): LocatedRule[] {
	const byPath = new Map<string, LocatedRule>();
	for (const rule of rules) {
		const other = byPath.get(rule.path);
		if (!other || PRECEDENCE[rule.access] > PRECEDENCE[other.access]) byPath.set(rule.path, rule);
	}
	return [...byPath.values()].sort(compareByDepth);
}

/** Recreates the links of allowed paths whose directories the view does not show. */
function addLinks(mounts: readonly Mount[], rules: readonly LocatedRule[]): Mount[] {
	const plan: SandboxPlan = {mounts, network: 'none'};
	const links = new Map<string, Mount>();
	for (const {path, to} of rules.flatMap(rule => (rule.access === 'deny' ? [] : rule.links))) {
		if (accessAt(plan, path) === 'none') links.set(path, {kind: 'link', path, to});
	}
	return [...mounts, ...links.values()];
}

/** Adds an own `/tmp`, below which other mounts may be, to a view that begins empty and has none. */
function addPrivateTmp(mounts: readonly Mount[]): readonly Mount[] {
	const hasTmp = mounts.some(({path}) => path === '/' || path === PRIVATE_TMP);
	return hasTmp ? mounts : [{kind: 'private', path: PRIVATE_TMP}, ...mounts];
}

/** No mount can protect a path that does not exist: a program that may write to its directory could create it. */
function refuseCreatablePath({path, access, optional}: Rule, plan: SandboxPlan): void {
	if (optional || access === 'write' || accessAt(plan, path) !== 'write') return;
	throw unenforceableError(`\`${path}\` does not exist and could be created in a writable directory`);
}

/**
 * A link in a writable directory could be changed: the read-only path would lead to another file, and the next process
 * under the same policy could write to, or see, another one. One that an earlier process may have put there leads to where
 * that process wanted.
 */
function refuseReplaceableLink(
	{path: target, access, links, isLinkTolerated}: LocatedRule,
	plan: SandboxPlan,
	{written}: PolicyContext,
): void {
	if (isLinkTolerated) return;
	const loose = links.find(({path}) => accessAt(plan, path) === 'write');
	if (loose) {
		throw unenforceableError(
			`\`${loose.path}\` is a symbolic link in a writable directory and cannot be kept ${KEPT[access]}`,
		);
	}
	const planted = links.find(({path}) => written?.mayHaveLinked(path, target));
	if (planted) {
		throw unenforceableError(
			`\`${planted.path}\` is a symbolic link that an earlier sandboxed process may have made; name \`${target}\` itself`,
		);
	}
}

const KEPT: Record<Rule['access'], string> = {read: 'read-only', write: 'leading where it leads', deny: 'hidden'};
