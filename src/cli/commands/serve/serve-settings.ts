import {FORWARD_SCOPES, type ForwardScope} from '../../../network/forward/forward-scopes.js';
import {HTTP_SCOPES, type HttpScope} from '../../../network/http/http-scopes.js';
import {DEFAULT_OOM_SCORE} from '../../../processes/backends/child-limits.js';
import {ENFORCER_CHOICES, type EnforcerChoice} from '../../../sandbox/enforcer.js';
import {AUTH_MODES, type AuthMode, DEFAULT_CLOCK_SKEW_SECONDS} from '../../../server/auth/auth-modes.js';
import {DEFAULTS} from '../../../server/options.js';
import {LongarmError} from '../../../shared/errors.js';
import type {EnvironmentLabels} from '../../../shared/labels.js';
import {LOG_LEVELS, type LogLevel} from '../../../shared/logger.js';
import {LOG_FORMATS, type LogFormat} from '../../../shared/node/line-logger.js';
import {PEER_TIMEOUT_MS, PING_INTERVAL_MS, STOPPED_PEER_MS} from '../../../transports/node/peer-times.js';
import {
	choice,
	choiceOfFlag,
	count,
	duration,
	filePath,
	flag,
	hostNames,
	type Kind,
	labels,
	niceness,
	oomScore,
	optional,
	origins,
	poolNames,
	registryUrls,
	remoteTransport,
	size,
	slotCount,
	text,
	variableNames,
	whole,
} from './setting-kinds.js';

interface Setting<T> {
	readonly kind: Kind<T>;
	readonly fallback: T;
	readonly help: string;
}

const setting = <T>(kind: Kind<T>, fallback: T, help: string): Setting<T> => ({kind, fallback, help});

/** Variable of the stock program that may hold the token for hubs. */
export const API_KEY_VARIABLE = 'CODEX_API_KEY';

/**
 * Every setting of `longarm serve`, once. A name such as `retain-bytes` is the flag `--retain-bytes`, the variable
 * `LONGARM_RETAIN_BYTES` and the key `retain_bytes` of the settings file; the flag wins over the variable, the
 * variable over the file.
 */
export const SETTINGS = {
	listen: setting(
		text,
		'auto',
		'where to serve: ws://IP:PORT (port 0 picks a free one), wss://IP:PORT, unix:/PATH, stdio, or auto: a free loopback port, stdio for v0',
	),
	remote: setting(
		registryUrls,
		[],
		'be reached through these hubs, without a port of its own unless --listen is given, too',
	),
	'remote-transport': setting<'noise'>(remoteTransport, 'noise', 'how clients of the hubs are reached'),
	'environment-id': setting<string | undefined>(optional(text, 'ID'), undefined, 'name of this machine at the hubs'),
	name: setting<string | undefined>(optional(text, 'NAME'), undefined, 'taken for the stock program; sent nowhere'),
	'token-file': setting<string | undefined>(
		optional(filePath),
		undefined,
		'file with the token for the hubs (or CODEX_API_KEY)',
	),
	'registration-bearer-stdin': setting(
		flag,
		false,
		'read a token for the hubs from the first line of stdin; its end does not stop the server',
	),
	'executor-credential-stdin': setting(
		flag,
		false,
		'read tokens for the hubs from stdin, a JSON object per line; its end stops the server',
	),
	'exit-on-stdin-close': setting(flag, false, 'with --remote: stop at the end of stdin'),
	'remote-ca-file': setting<string | undefined>(
		optional(filePath),
		undefined,
		'trust hubs that the authorities in this file (PEM) vouch for, and no others',
	),
	'remote-tls-fingerprint': setting<string | undefined>(
		optional(text, 'FINGERPRINT'),
		undefined,
		'trust hubs with this very certificate (sha256:HEX), and no other',
	),
	'key-file': setting<string | undefined>(
		optional(filePath, 'FILE', 'executor-keys/ID.json in the state directory'),
		undefined,
		'key by which clients know this machine at a hub; made at the first start',
	),
	pool: setting(
		poolNames,
		[] as readonly string[],
		'with --remote: pools this machine is a member of, for clients with -e pool:NAME; may be given several times',
	),
	label: setting<EnvironmentLabels>(
		labels,
		{},
		'with --remote: labels KEY=VALUE of this machine, for clients with -e @KEY=VALUE, besides os and arch; may be given several times',
	),
	slots: setting<number | undefined>(
		optional(slotCount, 'N', 'one per processor'),
		undefined,
		'with --remote: processes and waiting clients this machine is meant for at once; clients of a pool are sent elsewhere beyond them',
	),
	'allow-harness-key': setting<string | undefined>(
		optional(filePath),
		undefined,
		'file with fingerprints of clients, one per line: whatever a hub says, nobody else gets in',
	),
	'concurrent-requests': setting<number | undefined>(
		optional(count),
		undefined,
		'accepted for codex: requests of a connection always run concurrently',
	),
	'strict-config': setting(flag, false, 'accepted for codex: unknown settings in a settings file are always errors'),
	protocol: setting<'all' | 'v0'>(
		choice(['all', 'v0']),
		DEFAULTS.protocol,
		'all versions at once, or strictly the first one',
	),
	'dangerously-allow-unauthenticated-network': setting(
		flag,
		false,
		'listen beyond loopback although anybody who reaches the port can run programs as you',
	),
	'ws-auth': setting<AuthMode | undefined>(
		optional(choice(AUTH_MODES)),
		undefined,
		'let only holders of a token in: one of ours, or one that was signed with our secret',
	),
	'ws-token-file': setting<string | undefined>(
		optional(filePath),
		undefined,
		'file that holds the one token that is good',
	),
	'ws-token-sha256': setting<string | undefined>(
		optional(text, 'HEX'),
		undefined,
		'SHA-256 of the one token that is good',
	),
	'ws-tokens-file': setting<string | undefined>(
		optional(filePath),
		undefined,
		'file with many tokens by their SHA-256, each with a name, scopes and limits',
	),
	'ws-shared-secret-file': setting<string | undefined>(
		optional(filePath),
		undefined,
		'file that holds the secret tokens are signed with (JWT, HS256)',
	),
	'ws-issuer': setting<string | undefined>(optional(text, 'NAME'), undefined, 'who must have issued a signed token'),
	'ws-audience': setting<string | undefined>(
		optional(text, 'NAME'),
		undefined,
		'whom a signed token must be meant for',
	),
	'ws-max-clock-skew-seconds': setting<number | undefined>(
		optional(whole, 'N', String(DEFAULT_CLOCK_SKEW_SECONDS)),
		undefined,
		'clock skew allowed between the signer of tokens and this machine',
	),
	'tls-cert': setting<string | undefined>(
		optional(filePath),
		undefined,
		'certificate in PEM for wss://, followed by those of its issuers',
	),
	'tls-key': setting<string | undefined>(optional(filePath), undefined, 'private key of the certificate, in PEM'),
	'tls-self-signed': setting(
		flag,
		false,
		'make a certificate for wss:// instead, keep it in LONGARM_HOME and print its fingerprint, for clients to pin',
	),
	'log-level': setting<LogLevel | 'auto'>(
		choice([...LOG_LEVELS, 'auto']),
		'auto',
		'least important entries to log; auto is warn on stdio, whose caller shares our stderr, and info elsewhere',
	),
	'log-format': setting<LogFormat | 'auto'>(
		choice([...LOG_FORMATS, 'auto']),
		'auto',
		'how to log to stderr; auto is pretty on a terminal and json elsewhere',
	),
	'audit-log': setting<string | undefined>(
		optional(filePath),
		undefined,
		'file for entries about logins, starts and refusals, which go to the log without it; opened again on SIGHUP',
	),
	'audit-arguments': setting(flag, false, 'tell the arguments of started programs there, too: they may hold secrets'),
	'detached-session': setting(duration, DEFAULTS.detachedSessionMs, 'how long a session outlives its connection'),
	'exit-idle': setting(duration, 0, 'exit after this time without clients and processes; 0 never does'),
	'ping-interval': setting(
		duration,
		PING_INTERVAL_MS,
		'how long a client may be silent before it is pinged; 0 sends no pings and notices no client that vanished',
	),
	'peer-timeout': setting(
		duration,
		PEER_TIMEOUT_MS,
		'how long a client may be silent before its connection is over, and its session detached; 0 waits for ever',
	),
	'stopped-peer': setting(
		duration,
		STOPPED_PEER_MS,
		'how long the session of a client is kept that does not answer while its machine does, as that of a stopped program (Linux)',
	),
	'max-detached-sessions': setting(
		count,
		DEFAULTS.maxDetachedSessions,
		'sessions without a connection kept per token; the oldest without processes goes first',
	),
	'retain-bytes': setting(size, DEFAULTS.retainBytes, 'output kept per process for late readers'),
	'retain-bytes-total': setting(
		size,
		DEFAULTS.retainBytesTotal,
		'output kept by all processes together; closed processes give theirs up first, then the one that keeps most',
	),
	'retain-chunks': setting(count, DEFAULTS.retainChunks, 'chunks kept per process, however small'),
	'retain-closed': setting(duration, DEFAULTS.retainClosedMs, 'how long a closed process stays readable'),
	'max-processes': setting(count, DEFAULTS.maxProcesses, 'processes running at once'),
	'max-processes-per-session': setting(
		count,
		DEFAULTS.maxProcessesPerSession,
		'processes running at once in one session',
	),
	'child-memory': setting<number | undefined>(optional(size), undefined, 'data one process of a client may have'),
	'child-processes': setting<number | undefined>(
		optional(count),
		undefined,
		'processes and threads of the user, the server included, up to which a client may start more',
	),
	'child-files': setting<number | undefined>(optional(count), undefined, 'files one process of a client may have open'),
	'child-file-size': setting<number | undefined>(
		optional(size),
		undefined,
		'size a process of a client may write a file to',
	),
	'child-cpu': setting<number | undefined>(
		optional(duration),
		undefined,
		'processor time one process of a client may use',
	),
	'child-nice': setting(niceness, 0, 'how much processes of clients stand back for others, 0 to 19'),
	'child-oom-score': setting(
		oomScore,
		DEFAULT_OOM_SCORE,
		'how much sooner than others processes of clients are ended when memory runs out, 0 to 1000',
	),
	'children-memory': setting<number | undefined>(
		optional(size),
		undefined,
		'memory all processes of clients together may use; needs a control group of our own',
	),
	'children-processes': setting<number | undefined>(
		optional(count),
		undefined,
		'processes and threads all clients together may have; needs a control group of our own',
	),
	'allow-origin': setting(
		origins,
		[] as readonly string[],
		'web pages that may connect, by their origin; all others are refused',
	),
	'allow-host': setting(
		hostNames,
		[] as readonly string[],
		'names by which clients may call a server without TLS, such as that of a proxy in front of it; its addresses and localhost always count',
	),
	console: setting(
		flag,
		false,
		'serve the web console as well, at /console/; its address is the second line on stdout, with a login that is good once',
	),
	'max-connections': setting(count, 4096, 'connections open at once; more are turned away with 503'),
	'max-reply': setting(
		size,
		DEFAULTS.maxReplyBytes,
		'largest reply, such as a whole file; stock clients hang up on more than 64MiB',
	),
	'allow-direct-exec': setting(choiceOfFlag, true, 'start commands that no policy of the caller has looked at'),
	'allow-prepared-exec': setting(choiceOfFlag, true, "start commands that the caller's policy has resolved already"),
	'allow-forward': setting<ForwardScope>(
		choice(FORWARD_SCOPES),
		DEFAULTS.allowForward,
		'ports clients may connect to through this server: none, those of its own loopback addresses, or any',
	),
	'allow-http': setting<HttpScope>(
		choice(HTTP_SCOPES),
		DEFAULTS.allowHttp,
		'hosts clients may send HTTP requests to through this server: none, those with public addresses, or any',
	),
	'http-env': setting(
		optional(variableNames, 'NAMES', 'all for clients with the scope drive, none for others'),
		DEFAULTS.httpVariables as readonly string[] | undefined,
		'variables of this server whose values clients may have sent in a header of an HTTP request, without seeing them',
	),
	'sandbox-enforcer': setting<EnforcerChoice>(
		choice(ENFORCER_CHOICES),
		DEFAULTS.sandboxEnforcer,
		'how sandboxes are enforced on Linux; auto is the first of these that works here',
	),
	state: setting<string | undefined>(
		optional(filePath, 'DIR', 'longarm/serve in XDG_STATE_HOME or ~/.local/state, used when it is first needed'),
		undefined,
		'directory for output that is kept on disk and for processes that outlive the server; one server at a time',
	),
	'state-max-age': setting(duration, DEFAULTS.stateMaxAgeMs, 'how long ended processes are kept there'),
	'state-max-size': setting(
		size,
		DEFAULTS.stateMaxBytes,
		'output of ended processes kept there, the oldest go first; running ones are not counted',
	),
	'state-max-processes': setting(count, DEFAULTS.stateMaxProcesses, 'ended processes kept there'),
	'shutdown-grace': setting(
		duration,
		DEFAULTS.shutdownGraceMs,
		'how long processes may take to end by themselves when the server ends',
	),
	drain: setting(
		duration,
		0,
		'how long SIGTERM waits for running processes before it ends them, while new ones and new connections are refused; 0 does not wait',
	),
} as const satisfies Record<string, Setting<never> | Setting<unknown>>;

export type SettingName = keyof typeof SETTINGS;
export type Settings = {
	readonly [N in SettingName]: (typeof SETTINGS)[N]['fallback'] extends infer T ? Widened<T> : never;
};
type Widened<T> = T extends boolean ? boolean : T;

export interface SettingsFile {
	readonly path: string;
	/** By key, as written. */
	readonly values: Readonly<Record<string, string | boolean>>;
}

export interface SettingSources {
	/** By name, as typed. */
	readonly flags: Partial<Record<SettingName, string | boolean>>;
	readonly variables: Readonly<Record<string, string | undefined>>;
	readonly file: SettingsFile | undefined;
}

export const variableOf = (name: string): string => `LONGARM_${name.toUpperCase().replaceAll('-', '_')}`;
export const fileKeyOf = (name: string): string => name.replaceAll('-', '_');
export const flagOf = (name: SettingName): string => {
	const {placeholder} = SETTINGS[name].kind;
	return `--${name}${placeholder === undefined ? '' : ` <${placeholder}>`}`;
};

export function resolveSettings({flags, variables, file}: SettingSources): Settings {
	const names = Object.keys(SETTINGS) as SettingName[];
	const entries = names.map(name => {
		const given: [string, string | boolean | undefined][] = [
			[`--${name}`, flags[name]],
			[variableOf(name), variables[variableOf(name)]],
			[`${fileKeyOf(name)} in ${file?.path}`, file?.values[fileKeyOf(name)]],
		];
		const [source, value] = given.find(([, candidate]) => candidate !== undefined) ?? [];
		return [name, value === undefined ? SETTINGS[name].fallback : parseSetting(name, source!, String(value))];
	});
	return Object.fromEntries(entries) as Settings;
}

function parseSetting(name: SettingName, source: string, value: string): unknown {
	const {kind} = SETTINGS[name];
	const result = kind.parse(value);
	if (result === undefined) throw invalidSetting(`${source}: expected ${kind.expects}, got \`${value}\``);
	return result;
}

export function invalidSetting(message: string): LongarmError {
	return new LongarmError('SETTING_INVALID', {message});
}
