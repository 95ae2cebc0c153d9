/**
 * Table of every error longarm itself defines: a stable code, its meaning and a hint. The codes are local;
 * `protocol/wire/error-codes.ts` lists the numbers on the wire.
 */
export const ERRORS = {
	PROCESS_EXISTS: {
		meaning: 'A process with this id is starting, running or still retained in the session.',
		hint: 'Choose another process id, or wait until the closed process is evicted.',
	},
	PROCESS_UNKNOWN: {
		meaning: 'The session has no process with this id; it may have been evicted after it closed.',
		hint: 'Raise retainClosedMs to keep closed processes readable for longer.',
	},
	PROCESS_AMBIGUOUS: {
		meaning: 'Several processes of different sessions have this id.',
		hint: 'Use the name of the process, or start it with an id of its own.',
	},
	PROCESS_RUNNING: {
		meaning: 'The process has not ended, and only ended ones can be removed.',
		hint: 'Stop it first.',
	},
	NAME_INVALID: {
		meaning: 'A name or label of a process has characters or a length that cannot be used.',
		hint: 'Use up to 64 letters, digits, dots, dashes and underscores, beginning with a letter or digit.',
	},
	NOT_DRIVER: {
		meaning: 'Another client drives the process: only the driver writes, resizes, signals and closes the input.',
		hint: 'Attach with role drive, and with takeover if somebody drives it; the name of the driver is in the context.',
	},
	NOT_OWNER: {
		meaning: 'Only the owner of a process may share, end or remove it.',
		hint: 'Use the token that started the process.',
	},
	SHARE_REFUSED: {
		meaning: 'This server hands out no tokens for single processes.',
		hint: 'Start it with --ws-auth: without tokens everybody who can connect may attach already.',
	},
	STATE_UNUSABLE: {
		meaning: 'The state directory cannot be used: not writable, full, of another version, or of another server.',
		hint: 'The message says why; another directory is named with --state of longarm serve, or --data of longarm hub.',
	},
	EXECUTOR_KEY_CHANGED: {
		meaning: 'The executor behind a hub has another key than the one that is pinned or was seen at first.',
		hint: 'Either it was set up anew, or somebody is in its place. Ask its owner, then remove its line from known-executors, or set executor_key; a stock executor has a new key at every start: executor_key = "any".',
	},
	NATS_UNUSABLE: {
		meaning:
			'The NATS servers of a hub cannot be used: not reachable, not willing, without JetStream, or the client is not installed.',
		hint: 'The message says why; longarm hub --nats auto starts a server on this machine if nats-server is installed.',
	},
	POOL_FULL: {
		meaning:
			'The hub knows machines of this pool or with these labels, and all of them have as much work as they take.',
		hint: 'Wait for a free slot with --wait (poolWaitMs), or add machines: longarm serve --remote HUB --pool NAME.',
	},
	POOL_EMPTY: {
		meaning:
			'No machine of this pool or with these labels is connected to the hub, or none that the token is good for.',
		hint: 'longarm env list --hub shows the machines of a token with their pools and labels; --wait waits for one to come.',
	},
	UPGRADE_FAILED: {
		meaning: 'The server could not be replaced by another version; it goes on as before.',
		hint: 'The server that is running was not changed; fix what the message names and try again.',
	},
	START_CANCELLED: {
		meaning: 'The process was terminated before it was spawned.',
		hint: 'Start it again under a new id.',
	},
	SPAWN_FAILED: {
		meaning: 'The operating system refused to start the program.',
		hint: 'Check the program, its permissions and the working directory on the executor.',
	},
	PROGRAM_NOT_FOUND: {
		meaning: 'There is no such program on the executor, neither at its path nor along the PATH of the process.',
		hint: 'Check the program and the PATH in env; a command line with spaces needs a shell: sh -c.',
	},
	CWD_UNUSABLE: {
		meaning: 'The working directory of the process is missing on the executor, is no directory or may not be entered.',
		hint: 'Give a cwd that is a directory of the machine that executes the command.',
	},
	RESOURCES_EXHAUSTED: {
		meaning: 'The machine has run out of descriptors, processes or memory; nothing was started.',
		hint: 'End something, or raise the limit (ulimit -n, ulimit -u); the same request may succeed later.',
	},
	STDIN_FAILED: {
		meaning: 'The process was terminated, so nothing can be written to its input.',
		hint: 'Start the process again.',
	},
	STDIN_CLOSED: {
		meaning: 'The process has no standard input, has closed it or has exited, so that nothing was written.',
		hint: 'Start the process with stdin: true, or on a terminal, and write before it exits.',
	},
	STDIN_BACKLOG_FULL: {
		meaning: 'The process does not read its input and too much is already waiting for it; this chunk was not taken.',
		hint: 'Wait for earlier writes to be answered before sending more.',
	},
	NOT_SUPPORTED: {
		meaning: 'This executor cannot do what the request asks for, and will not pretend to.',
		hint: 'Leave the member out; environment/info lists what this executor is capable of.',
	},
	PROCESS_LIMIT: {
		meaning: 'As many processes are running as are allowed.',
		hint: 'End some, or raise max-processes or max-processes-per-session.',
	},
	SESSION_UNKNOWN: {
		meaning: 'The server has no such session: it has expired, belongs to another token, or the server was restarted.',
		hint: 'Open a new session; the processes of the old one are gone.',
	},
	SESSION_LIMIT: {
		meaning: 'As many sessions without a connection are kept as are allowed, and all of them have processes.',
		hint: 'Resume one, end its processes, wait until one expires, or raise max-detached-sessions.',
	},
	REQUEST_LIMIT: {
		meaning: 'As many requests wait for a process, a peer or an origin as are allowed; this one was not begun.',
		hint: 'Wait for some to be answered; signals and terminate are taken all the while.',
	},
	EXEC_REFUSED: {
		meaning: 'This server does not start commands of this kind (direct, or prepared by the caller).',
		hint: 'See allow-direct-exec and allow-prepared-exec.',
	},
	NO_TERMINAL: {
		meaning: 'The process was not started on a terminal.',
		hint: 'Start it with tty, or with io.pty.',
	},
	SCREEN_UNFINISHED: {
		meaning: 'The output of the process takes longer to draw than one request may take.',
		hint: 'Ask again: the next request continues where this one ended.',
	},
	SIGNAL_UNKNOWN: {
		meaning: 'There is no signal of this name on the executor.',
		hint: 'Use a name such as SIGTERM or HUP.',
	},
	FILE_NOT_FOUND: {
		meaning: 'There is nothing at this path, or no open handle, watch or search of this id.',
		hint: 'Check the path; a handle ends with its connection and with its first failed read.',
	},
	FILE_REFUSED: {
		meaning: 'What was asked for a file is not possible or not permitted, whatever its content.',
		hint: 'The message says why; nothing was changed.',
	},
	FILE_FAILED: {
		meaning: 'The operating system could not do what was asked for a file.',
		hint: 'The message is that of the operating system.',
	},
	TRANSFER_DAMAGED: {
		meaning: 'A stream of a tree is not what its sender made: broken, cut short or of another checksum.',
		hint: 'Send it again; what was unpacked so far is still there.',
	},
	PATTERN_INVALID: {
		meaning: 'The expression or glob to search for cannot be read.',
		hint: 'Search for plain text, or mend the expression.',
	},
	SANDBOX_INVALID: {
		meaning:
			'The sandbox policy cannot be read: a path is invalid, or the directory that relative ones start from is missing.',
		hint: 'Give the policy a cwd, and its paths as absolute file: URIs.',
	},
	HTTP_INVALID: {
		meaning: 'The HTTP request cannot be sent as it is; nothing was sent.',
		hint: 'The message names the part that is wrong.',
	},
	HTTP_FAILED: {
		meaning: 'The HTTP request could not be sent, or its answer could not be read to the end.',
		hint: 'The message says what happened; the request may have reached the origin.',
	},
	HTTP_REFUSED: {
		meaning: 'This server makes no HTTP requests to this host, or none at all; nothing was sent.',
		hint: 'Start that server with --allow-http any, or ask for a host with a public address if it has --allow-http public.',
	},
	FORWARD_REFUSED: {
		meaning: 'This server does not forward connections to this host, or not at all.',
		hint: 'Start that server with --allow-forward loopback (its own ports) or --allow-forward any.',
	},
	FORWARD_UNKNOWN: {
		meaning: 'There is no forwarded connection of this id; it ends with the client that opened it.',
		hint: 'Open it again.',
	},
	FORWARD_FAILED: {
		meaning: 'The connection to the port could not be made, or broke.',
		hint: 'Check that something listens on the port of the executor.',
	},
	CONFIG_UNREADABLE: {
		meaning: "The peer's own configuration on the executor is there but cannot be read.",
		hint: 'Mend config.toml in CODEX_HOME of the executor.',
	},
	ENVIRONMENT_INVALID: {
		meaning: 'An environment is described or asked for in a way that cannot be used.',
		hint: 'See docs/environments.md for every key of environments.toml and every variable.',
	},
	USAGE_WRONG: {
		meaning: 'Arguments or options of a command cannot be used as they are; nothing was done.',
		hint: 'See the --help of the command.',
	},
	SETTING_INVALID: {
		meaning: 'A flag, an environment variable or the settings file holds a value that cannot be used.',
		hint: 'See longarm serve --help for every setting, its unit and its default.',
	},
	LISTEN_REFUSED: {
		meaning: 'The address is not one this server will listen on.',
		hint: 'Use a loopback address such as ws://127.0.0.1:0, or let only holders of a token in with --ws-auth.',
	},
	AUTH_INVALID: {
		meaning: 'Authentication is set up in a way that cannot be used; the server does not start without it instead.',
		hint: 'See docs/security.md for every way to set up tokens.',
	},
	TLS_INVALID: {
		meaning: 'The certificate or its key cannot be read, or they do not belong together.',
		hint: 'Both are PEM files; the certificate may be followed by those of its issuers.',
	},
	SCOPE_MISSING: {
		meaning: 'The token of this connection is not good for this method.',
		hint: 'Use a token with the scope named in the context.',
	},
	JOB_UNKNOWN: {
		meaning: 'There is no fan-out job of this id.',
		hint: 'See longarm fanout list, and --job-dir for jobs elsewhere.',
	},
	JOB_RUNNING: {
		meaning: 'Another program is running this fan-out job.',
		hint: 'Wait for it, or end the job with longarm fanout cancel.',
	},
	JOB_UNUSABLE: {
		meaning: 'The files of a fan-out job are damaged, of another version, or do not fit its input any more.',
		hint: 'Start the job anew; longarm fanout export may still read the results.',
	},
	SHUTTING_DOWN: {
		meaning: 'The server is ending and takes no new work.',
		hint: 'Connect to another server, or start this one again.',
	},
} as const satisfies Record<string, {meaning: string; hint: string}>;

/** Stable code of a `LongarmError`. */
export type ErrorCode = keyof typeof ERRORS;

/** Message and context of a `LongarmError`. */
export interface ErrorDetails {
	readonly message: string;
	/** Values of the failure, for programs. */
	readonly context?: Record<string, unknown>;
	/** In place of the hint of the code, where that does not fit. */
	readonly hint?: string | undefined;
	readonly cause?: unknown;
}

/** Error with a stable `code` and a `hint` for the user. */
export class LongarmError extends Error {
	override readonly name = 'LongarmError';
	readonly code: ErrorCode;
	readonly context: Record<string, unknown>;
	readonly #hint: string | undefined;

	constructor(code: ErrorCode, {message, context = {}, hint, cause}: ErrorDetails) {
		super(message, cause === undefined ? undefined : {cause});
		this.code = code;
		this.context = context;
		this.#hint = hint;
	}

	get hint(): string {
		return this.#hint ?? ERRORS[this.code].hint;
	}
}

/** Message of a thrown value, which need not be an Error. */
export function errorMessage(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
