import type {Environment} from '../../../environments/environment.js';
import {RpcError} from '../../../protocol/wire/error-codes.js';
import {ignoreRejection} from '../../../shared/async/ignore-rejection.js';
import {errorMessage, LongarmError} from '../../../shared/errors.js';
import {randomHex} from '../../../shared/random-id.js';
import type {OptionValues} from '../../command-definition.js';
import {type OpenOptions, openEnvironment} from '../../common/environments.js';
import {parseTimeOption} from '../../common/times.js';
import {usageError} from '../../exit-codes.js';
import {attach} from './attach/attach.js';
import type {AttachedCommand} from './attach/start-attached.js';
import type {SandboxRequest} from './sandbox-request.js';
import type {ReadSharing, SharingRequest} from './sharing-request.js';

/** Of an id that people may have to copy: it is found nowhere twice all the same. */
const ID_BYTES = 6;

/** Where a command runs. */
interface RunPlace {
	readonly environment: string | undefined;
	/** Value of `--wait`. */
	readonly wait?: OptionValues[string];
	readonly quiet: boolean;
}

export interface RunRequest extends RunPlace {
	readonly argv: readonly string[];
	readonly cwd: string | undefined;
	/** `NAME=value`. */
	readonly variables: readonly string[];
	readonly sandbox: SandboxRequest;
	readonly timeout: string | undefined;
	readonly tty: boolean;
	/** Whether the command gets our standard input. */
	readonly stdin: boolean;
	/** Whether output and end are written as JSON. */
	readonly json: boolean;
	readonly sharing: SharingRequest;
}

/** Runs a command as if it were one of this machine; settles with its exit code. */
export async function runCommand(request: RunRequest): Promise<number> {
	const {argv, cwd, variables, timeout, tty, stdin, json} = request;
	const {isDetached, sharing, processId} = await readSharing(request.sharing);
	if (isDetached && timeout !== undefined) throw usageError('--timeout and --detach exclude each other');
	if (!isDetached && tty && (json || !stdin))
		throw usageError(`--tty and ${json ? '--json' : '--no-stdin'} exclude each other`);
	const sandbox = await readSandbox(request.sandbox);
	const timeoutMs = parseTimeOption('--timeout', timeout);
	const env = {...(tty && readTerminalKind()), ...parseVariables(variables)};
	// A user at a terminal sees that the link is lost, and may give up.
	const isPatient = tty && !isDetached && process.stdin.isTTY;
	const place = await openPlace(request, {isNamed: sharing !== undefined, isPatient});
	const {opened, member} = place;
	// On this machine a process that others are to find is one of the daemon.
	const shared = sharing && opened.kind === 'local' ? {...sharing, share: {}} : sharing;
	const start = {argv, cwd, env, tty, timeoutMs, sandbox, sharing: shared, isPatient};
	const command = {...start, noInput: !stdin, processId: processId ?? (isPatient ? randomHex(ID_BYTES) : undefined)};
	if (isDetached) {
		const {startDetached} = await import('./start-detached.js');
		return startDetached(opened, {command, json, member});
	}
	if (json) return attachWithReport(opened, command, member);
	void tellMember(place, request.quiet);
	return attach(opened, command);
}

/** With a report of failures that come before the start, too. */
async function attachWithReport(
	environment: Environment,
	command: AttachedCommand,
	member: Promise<string> | undefined,
): Promise<number> {
	const {JsonReport} = await import('./attach/json-report.js');
	const writer = new JsonReport(member);
	try {
		return await attach(environment, {...command, writer});
	} catch (error) {
		const reason = error instanceof RpcError || error instanceof LongarmError ? 'spawn' : 'disconnected';
		await writer.report({exitCode: undefined, reason, error: errorMessage(error)});
		throw error;
	}
}

interface OpenedPlace {
	readonly opened: Environment;
	/** Name of the machine that a hub chooses; undefined where it does not. */
	readonly member: Promise<string> | undefined;
}

/** Opens the environment; what pools need is loaded for them only. */
async function openPlace(
	{environment, wait, quiet}: RunPlace,
	client: Pick<OpenOptions, 'isNamed' | 'isPatient'>,
): Promise<OpenedPlace> {
	let isPool = false;
	const noticePool = (): void => {
		isPool = true;
	};
	const choice = wait === undefined ? undefined : (await import('../../common/pool-choice.js')).readPoolChoice(wait);
	const opened = await openEnvironment(environment, {
		quiet,
		...client,
		pools: {waitMs: choice?.waitMs, noticePool},
	});
	if (!isPool) return {opened, member: undefined};
	const {nameMember} = await import('../../common/pool-choice.js');
	return {opened, member: ignoreRejection(nameMember(opened))};
}

async function tellMember({member}: OpenedPlace, quiet: boolean): Promise<void> {
	if (member) await (await import('../../common/pool-choice.js')).tellMember(member, quiet);
}

export interface ShellRequest extends RunPlace {
	/** The login shell of the executor when it is empty. */
	readonly argv: readonly string[];
	readonly cwd: string | undefined;
	/** `NAME=value`. */
	readonly variables: readonly string[];
	readonly sandbox: SandboxRequest;
	/** Of a shell that stays when we leave, and is attached to if it is there. */
	readonly name: string | undefined;
}

/** Hands our terminal to a shell somewhere else; settles with its exit code. */
export async function runShell(request: ShellRequest): Promise<number> {
	const {argv, cwd, variables} = request;
	if (!process.stdin.isTTY) {
		throw usageError('standard input is not a terminal, and a shell needs one; `longarm run -- sh` takes any input');
	}
	const sandbox = await readSandbox(request.sandbox);
	const env = {...readTerminalKind(), ...parseVariables(variables)};
	const command = {argv, cwd, env, tty: true, sandbox};
	if (request.name !== undefined) {
		const {attachToShell} = await import('./named-shell.js');
		return attachToShell(request.name, command, request);
	}
	const place = await openPlace(request, {isPatient: true});
	void tellMember(place, request.quiet);
	return attach(place.opened, {...command, isPatient: true, processId: randomHex(ID_BYTES)});
}

/** Loaded when it is needed: most commands are for one client only. */
async function readSharing(request: SharingRequest): Promise<ReadSharing> {
	const isPlain = Object.values(request).every(value => value === undefined || value === false || isEmptyList(value));
	if (isPlain) return {isDetached: false, sharing: undefined, processId: undefined};
	const {parseSharingRequest} = await import('./sharing-request.js');
	return parseSharingRequest(request);
}

function isEmptyList(value: unknown): boolean {
	return Array.isArray(value) && value.length === 0;
}

/** Loaded when it is needed: most commands have no sandbox. */
async function readSandbox(request: SandboxRequest): Promise<AttachedCommand['sandbox']> {
	const {policy, writable, network} = request;
	if (policy === undefined && writable.length === 0 && !network) return undefined;
	const {parseSandboxRequest} = await import('./sandbox-request.js');
	return parseSandboxRequest(request);
}

/** The variable that tells a program what kind of terminal its output goes to. */
function readTerminalKind(): Record<string, string> {
	const kind = process.env['TERM'];
	return kind ? {TERM: kind} : {};
}

/** `NAME=VALUE` of --env. */
export function parseVariables(given: readonly string[]): Record<string, string> {
	return Object.fromEntries(
		given.map(text => {
			const at = text.indexOf('=');
			if (at <= 0) throw usageError(`--env ${text}: expected NAME=VALUE`);
			return [text.slice(0, at), text.slice(at + 1)];
		}),
	);
}
