import type {MachineLimits} from '../../../mcp/server/machines/machine-limits.js';
import {McpService, type McpServiceOptions} from '../../../mcp/server/mcp-service.js';
import {TOOL_GROUPS, type ToolGroup} from '../../../mcp/server/tools/tool.js';
import {waitAtMost} from '../../../shared/async/timeout.js';
import {writeMessage} from '../../common/messages.js';
import {parseTimeOption} from '../../common/times.js';
import {EXIT, usageError} from '../../exit-codes.js';
import {openMachines} from './open-machines.js';

export interface McpOptions {
	readonly environments: readonly string[];
	readonly all: boolean;
	readonly http: string | undefined;
	readonly tokenFile: string | undefined;
	readonly allowedOrigins: readonly string[];
	readonly tools: string | undefined;
	readonly readOnly: boolean;
	readonly root: string | undefined;
	readonly sandbox: string | undefined;
	readonly network: boolean;
	readonly grace: string | undefined;
	readonly maxWait: string | undefined;
	readonly maxChars: string | undefined;
}

const DEFAULT_GRACE_MS = 10_000;
/** Below the minute after which many clients give up. */
const DEFAULT_MAX_WAIT_MS = 45_000;
const DEFAULT_MAX_CHARS = 10_000;
const MIN_CHARS = 100;
const DEFAULT_GROUPS: readonly ToolGroup[] = ['exec', 'files', 'ports'];
/** For somebody who starts by hand what a client should start. */
const TERMINAL_HINT = [
	'longarm mcp waits for an MCP client on standard input, which is a terminal here; Ctrl-C ends it.',
	'hint: clients start it themselves: longarm mcp setup writes their configuration',
];
/** A call that waits as long as it may has so much more time for its answer, after the end of the input. */
const ANSWER_MARGIN_MS = 15_000;
/** Time limit for the orderly end of connections. */
const GOODBYE_MS = 1000;

/** Serves MCP clients until they leave or a signal comes. */
export async function serveMcp(options: McpOptions): Promise<number> {
	const settings = readServiceSettings(options);
	const httpOnly =
		options.tokenFile !== undefined ? '--token-file' : options.allowedOrigins.length > 0 ? '--allow-origin' : undefined;
	if (options.http === undefined && httpOnly !== undefined) throw usageError(`${httpOnly} is for --http only`);
	const limits = await readLimits(options);
	const ended = endOnSignals();
	const machines = await openMachines({...options, limits});
	const hasSecretIds = options.http !== undefined && options.tokenFile === undefined;
	const service = new McpService({...settings, machines, hasSecretIds});
	try {
		if (options.http === undefined) {
			if (process.stdin.isTTY) writeMessage(...TERMINAL_HINT);
			const {serveMcpOverStdio} = await import('../../../mcp/server/serve-stdio.js');
			await serveMcpOverStdio(service, {signal: ended, answerMs: settings.maxWaitMs + ANSWER_MARGIN_MS});
			// The terminal has shown ^C at the beginning of a line.
			if (process.stdin.isTTY && ended.aborted) writeMessage('');
		} else {
			const {serveHttp} = await import('./serve-http.js');
			await serveHttp(service, {...options, http: options.http}, ended);
		}
		return EXIT.ok;
	} finally {
		await waitAtMost(
			service[Symbol.asyncDispose]().catch(() => {}),
			GOODBYE_MS,
		);
	}
}

type ServiceSettings = Omit<McpServiceOptions, 'machines' | 'hasSecretIds'>;

/** Throws for values that cannot be meant, before anything is connected to. */
export function readServiceSettings(options: McpOptions): ServiceSettings {
	return {
		groups: readGroups(options.tools),
		isReadOnly: options.readOnly,
		graceMs: parseTimeOption('--grace', options.grace) ?? DEFAULT_GRACE_MS,
		maxWaitMs: parseTimeOption('--max-wait', options.maxWait) ?? DEFAULT_MAX_WAIT_MS,
		maxChars: readChars(options.maxChars),
	};
}

async function readLimits({root, sandbox, network}: McpOptions): Promise<MachineLimits> {
	if (root === undefined && sandbox === undefined) {
		if (network) throw usageError('--network goes with --sandbox or --root');
		return {};
	}
	if (root === '') throw usageError('--root is empty');
	if (sandbox === undefined) return {root, network};
	const {readSandboxOption} = await import('../run/sandbox-request.js');
	const policy = readSandboxOption(sandbox);
	if (typeof policy === 'string') return {root, sandbox: policy, network};
	if (root === undefined && !network) return {sandbox: policy};
	throw usageError('--root and --network go with read-only and workspace-write; a policy of your own says it itself');
}

function readGroups(text: string | undefined): readonly ToolGroup[] {
	if (text === undefined) return DEFAULT_GROUPS;
	const names = text.split(',').map(name => name.trim());
	const wrong = names.find(name => !(TOOL_GROUPS as readonly string[]).includes(name));
	if (wrong === undefined) return names as ToolGroup[];
	throw usageError(`--tools ${text}: there is no group \`${wrong}\`, only ${TOOL_GROUPS.join(', ')}`);
}

function readChars(text: string | undefined): number {
	if (text === undefined) return DEFAULT_MAX_CHARS;
	const count = /^\d+$/.test(text) ? Number(text) : Number.NaN;
	if (Number.isSafeInteger(count) && count >= MIN_CHARS) return count;
	throw usageError(`--max-chars ${text}: expected a whole number from ${MIN_CHARS} on`);
}

function endOnSignals(): AbortSignal {
	const controller = new AbortController();
	for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => controller.abort());
	return controller.signal;
}
