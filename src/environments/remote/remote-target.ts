import type {Connect} from '../../client/session/session-client.js';
import {ignoreRejection} from '../../shared/async/ignore-rejection.js';
import {type OptionTable, readOptions, requireKnownOptions, type WithDurations} from '../../shared/call-options.js';
import {findScheme, type TransportTarget} from '../../transports/node/registry.js';
import type {TargetOptions} from '../../transports/node/transport-scheme.js';
import {targetFromUrl} from './remote-url.js';

interface SessionOptions {
	/** Name by which other clients of a process know this one, unless its token has a name; `longarm` by default. */
	readonly clientName?: string | undefined;
	readonly initializeTimeoutMs?: number | undefined;
	/** Connects again and resumes the session after a lost connection; on by default where the server outlives it. */
	readonly recovers?: boolean | undefined;
	/** Time limit of that; 45 seconds by default. */
	readonly recoveryBudgetMs?: number | undefined;
	/** Carries on the session of an earlier client, which has left: its processes are there for `attach`. */
	readonly resumeSessionId?: string | undefined;
}

/** Settings of a server that is named by its address. */
export type RemoteOptions = SessionOptions & TargetOptions;

/** How a machine is reached. */
export type RemoteTarget = SessionOptions &
	(
		| TransportTarget
		/** By a function of the caller's own. */
		| {readonly kind: 'transport'; readonly connect: Connect}
		/** A machine that does not exist yet: the promise settles when it does, and rejects when it never will. */
		| {readonly kind: 'provisioned'; readonly target: Promise<RemoteTarget>}
	);

type TargetTables = {readonly [K in RemoteTarget['kind']]: OptionTable<Extract<RemoteTarget, {readonly kind: K}>>};

const SESSION = {
	kind: 'text',
	clientName: 'text',
	initializeTimeoutMs: 'duration',
	recovers: 'flag',
	recoveryBudgetMs: 'duration',
	resumeSessionId: 'text',
} as const;

/** Members of every kind of target. */
const TARGETS: TargetTables = {
	websocket: {
		...SESSION,
		url: 'text',
		token: 'text',
		tls: 'object',
		connectTimeoutMs: 'duration',
		pingIntervalMs: 'duration',
		peerTimeoutMs: 'duration',
	},
	unix: {...SESSION, path: 'text', token: 'text', connectTimeoutMs: 'duration'},
	command: {...SESSION, program: 'text', args: 'list', env: 'object', cwd: 'text', onStderr: 'function'},
	registry: {
		...SESSION,
		url: 'text',
		token: 'text',
		tls: 'object',
		executorKey: 'text',
		accountId: 'text',
		poolWaitMs: 'duration',
	},
	transport: {...SESSION, connect: 'function'},
	provisioned: {...SESSION, target: 'object'},
};

/** The target of an address, or the one given; throws for members that the kind does not have. */
export function readTarget(
	address: string | WithDurations<RemoteTarget>,
	options: WithDurations<RemoteOptions> = {},
): RemoteTarget {
	const where = 'Environment.remote()';
	if (typeof address === 'string') {
		const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
		return readMembers({...parseAddress(address), ...given}, where);
	}
	if (typeof address !== 'object' || address === null) {
		throw new TypeError(`${where} needs a name and the address of a server, such as ws://HOST:PORT`);
	}
	requireKnownOptions(options, [], `${where} with a target: they are members of the target`);
	return readMembers(address, where);
}

function parseAddress(address: string): TransportTarget {
	const text = address.trim();
	const scheme = findScheme(text);
	return scheme?.startsServer ? scheme.parseTarget(text, {}) : targetFromUrl(text);
}

function readMembers(target: WithDurations<RemoteTarget>, where: string): RemoteTarget {
	if (!Object.hasOwn(TARGETS, target.kind)) {
		throw new TypeError(`unknown kind \`${target.kind}\` of ${where}; known are ${Object.keys(TARGETS).join(', ')}`);
	}
	// A machine that cannot be provisioned is an error of its first use, even if that comes later.
	if (target.kind === 'provisioned') void ignoreRejection(target.target);
	const table = TARGETS[target.kind] as unknown as OptionTable<RemoteTarget>;
	return readOptions<RemoteTarget>(target, table, `${where}, kind ${target.kind}`);
}
