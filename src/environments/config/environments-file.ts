import {dirname, resolve} from 'node:path';
import {parse, TomlError} from 'smol-toml';
import * as v from 'valibot';
import {decode} from '../../protocol/wire/decode.js';
import {errorMessage} from '../../shared/errors.js';
import {findLabelsFault} from '../../shared/labels.js';
import {CLIENT_PEER_TIMES, findTimesFault} from '../../transports/node/peer-times.js';
import {type EnvironmentSnapshot, LOCAL} from '../environment-provider.js';
import type {RemoteTarget} from '../remote/remote-target.js';
import {withTrust} from '../remote/remote-trust.js';
import {invalidEnvironment, targetFromUrl} from '../remote/remote-url.js';

const MAX_ID_LENGTH = 64;
const RESERVED_IDS: ReadonlySet<string> = new Set([LOCAL, 'none']);

/** Times of a connection over a network. */
const URL_TIMES = ['connect_timeout_sec', 'ping_interval_sec', 'peer_timeout_sec'] as const;
const seconds = v.pipe(v.number(), v.minValue(0, 'expected a non-negative number of seconds'), v.finite());
const entrySchema = v.object({
	id: v.string(),
	url: v.optional(v.string()),
	auth_bearer_token: v.optional(v.string()),
	connect_timeout_sec: v.optional(seconds),
	initialize_timeout_sec: v.optional(seconds),
	ping_interval_sec: v.optional(seconds),
	peer_timeout_sec: v.optional(seconds),
	ca_file: v.optional(v.string()),
	tls_fingerprint: v.optional(v.string()),
	executor_key: v.optional(v.string()),
	program: v.optional(v.string()),
	args: v.optional(v.array(v.string())),
	env: v.optional(v.record(v.string(), v.string())),
	cwd: v.optional(v.string()),
	labels: v.optional(v.record(v.string(), v.string())),
	/** For upstream only; ignored here. */
	skills: v.optional(v.object({required: v.optional(v.array(v.string()))})),
});
const fileSchema = v.object({
	default: v.optional(v.string()),
	include_local: v.optional(v.boolean(), true),
	environments: v.optional(v.array(entrySchema), []),
});
type Entry = v.InferOutput<typeof entrySchema>;

/** `path` names the file in errors; relative working directories are relative to it. */
export function parseEnvironments(text: string, path: string): EnvironmentSnapshot {
	const file = readShape(text, path);
	const remotes = new Map<string, RemoteTarget>();
	for (const entry of file.environments) {
		requireId(entry.id, remotes);
		remotes.set(entry.id, toTarget(entry, dirname(path)));
	}
	const defaultId = toDefault(file.default, file.include_local);
	const isKnown = defaultId === undefined || remotes.has(defaultId) || (defaultId === LOCAL && file.include_local);
	if (!isKnown) throw invalidEnvironment(`default environment \`${defaultId}\` is not configured`);
	const labels = new Map(file.environments.flatMap(({id, labels: own}) => (own ? [[id, own] as const] : [])));
	return {defaultId, includesLocal: file.include_local, remotes, ...(labels.size > 0 && {labels})};
}

/** Whether a file that can be parsed has a token, or a URL with a password. */
export function holdsToken(text: string): boolean {
	return asArray(parse(text)['environments']).some(entry => {
		const {url, auth_bearer_token: token} = entry as Partial<Entry>;
		return token !== undefined || (url !== undefined && URL.canParse(url) && new URL(url).password !== '');
	});
}

function readShape(text: string, path: string): v.InferOutput<typeof fileSchema> {
	try {
		const table = parse(text);
		refuseUnknownKeys(table, fileSchema, '');
		for (const [index, entry] of asArray(table['environments']).entries()) {
			refuseUnknownKeys(entry, entrySchema, ` of environment ${index + 1}`);
		}
		return decode(fileSchema, table);
	} catch (cause) {
		throw invalidEnvironment(`failed to parse environment config \`${path}\`: ${describeFault(cause)}`, {file: path});
	}
}

/** Without the parser's quotation of the lines around the fault, which may hold a token. */
function describeFault(cause: unknown): string {
	if (!(cause instanceof TomlError)) return errorMessage(cause);
	const [what] = cause.message.replace(/^Invalid TOML document: /, '').split('\n', 1);
	return `line ${cause.line}, column ${cause.column}: ${what}`;
}

function refuseUnknownKeys(table: unknown, {entries}: {entries: object}, place: string): void {
	const unknown = Object.keys(table as object).find(key => !Object.hasOwn(entries, key));
	if (unknown === undefined) return;
	throw new Error(`unknown field \`${unknown}\`${place}, expected one of ${Object.keys(entries).join(', ')}`);
}

function asArray(value: unknown): unknown[] {
	return Array.isArray(value) ? value.filter(entry => typeof entry === 'object' && entry !== null) : [];
}

function requireId(id: string, taken: ReadonlyMap<string, unknown>): void {
	const fault = findIdFault(id) ?? (taken.has(id) ? 'is duplicated' : undefined);
	if (id === '') throw invalidEnvironment('environment id cannot be empty');
	if (fault !== undefined) throw invalidEnvironment(`environment id \`${id}\` ${fault}`, {id});
}

function findIdFault(id: string): string | undefined {
	if (id.trim() !== id) return 'must not contain surrounding whitespace';
	if (RESERVED_IDS.has(id)) return 'is reserved';
	if (id.length > MAX_ID_LENGTH) return `cannot be longer than ${MAX_ID_LENGTH} characters`;
	return /^[A-Za-z0-9_-]*$/.test(id) ? undefined : "must contain only ASCII letters, numbers, '-' or '_'";
}

function toTarget(entry: Entry, directory: string): RemoteTarget {
	const {id, url, program, args, env, cwd, auth_bearer_token: token} = entry;
	const fault = findEntryFault(entry);
	if (fault !== undefined) throw invalidEnvironment(`environment \`${id}\` ${fault}`, {id});
	const initializeTimeoutMs = toMilliseconds(entry.initialize_timeout_sec);
	if (program !== undefined) {
		const place = cwd === undefined ? {} : {cwd: resolve(directory, cwd)};
		return {kind: 'command', program, args: args ?? [], env: env ?? {}, ...place, initializeTimeoutMs};
	}
	const connectTimeoutMs = toMilliseconds(entry.connect_timeout_sec);
	const pingIntervalMs = toMilliseconds(entry.ping_interval_sec);
	const peerTimeoutMs = toMilliseconds(entry.peer_timeout_sec);
	const {ca_file: caFile, tls_fingerprint: fingerprint, executor_key: executorKey} = entry;
	const target = targetFromUrl(url!, {token, connectTimeoutMs, pingIntervalMs, peerTimeoutMs});
	const trust = {caFile: caFile === undefined ? undefined : resolve(directory, caFile), fingerprint, executorKey};
	return {...withTrust(target, trust, `environment \`${id}\``), initializeTimeoutMs};
}

function findEntryFault(entry: Entry): string | undefined {
	const {url, program, args, env, cwd, auth_bearer_token: token} = entry;
	const hasTrust = entry.ca_file !== undefined || entry.tls_fingerprint !== undefined;
	const hasCommandKeys = args !== undefined || env !== undefined || cwd !== undefined;
	if (hasCommandKeys && program === undefined) return 'args, env, and cwd require program';
	if (url === undefined) {
		const useless = URL_TIMES.find(key => entry[key] !== undefined);
		if (useless !== undefined) return `${useless} requires url`;
	}
	const fault = findTimesFault({
		...CLIENT_PEER_TIMES,
		pingIntervalMs: toMilliseconds(entry.ping_interval_sec) ?? CLIENT_PEER_TIMES.pingIntervalMs,
		peerTimeoutMs: toMilliseconds(entry.peer_timeout_sec) ?? CLIENT_PEER_TIMES.peerTimeoutMs,
	});
	if (fault !== undefined) return `ping_interval_sec and peer_timeout_sec: ${fault}`;
	if (token !== undefined && url === undefined) return 'auth_bearer_token requires url';
	if (hasTrust && url === undefined) return 'ca_file and tls_fingerprint require url';
	if (entry.executor_key !== undefined && url === undefined) return 'executor_key requires url';
	if ((url === undefined) === (program === undefined)) return 'must set exactly one of url or program';
	return program?.trim() === '' ? 'program cannot be empty' : findLabelsFault(entry.labels ?? {});
}

function toDefault(given: string | undefined, includesLocal: boolean): string | undefined {
	if (given === undefined) return includesLocal ? LOCAL : undefined;
	const id = given.trim();
	if (id === '') throw invalidEnvironment('default environment id cannot be empty');
	return id.toLowerCase() === 'none' ? undefined : id;
}

function toMilliseconds(value: number | undefined): number | undefined {
	return value === undefined ? undefined : value * 1000;
}
