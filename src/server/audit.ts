import type {ProcessRole} from '../protocol/methods/sharing-params.js';
import {RpcError} from '../protocol/wire/error-codes.js';
import {type ErrorCode, LongarmError} from '../shared/errors.js';
import type {LogFields} from '../shared/logger.js';

/** Characters of arguments in one entry; the rest is left out. */
const MAX_ARGUMENT_CHARACTERS = 4096;
/** Characters of the name of a program, or of any other text of a client. */
const MAX_TEXT_CHARACTERS = 512;
/** Stands for what was left out. */
const ELLIPSIS = '…';

export type AuditEvent =
	| 'let in'
	| 'process started'
	| 'not started'
	| 'call refused'
	| 'process attached'
	| 'process taken over'
	| 'process shared';

/** Receives the entries of the audit log: a constant sentence, and who did what from where. */
export type Audit = (event: AuditEvent, fields: LogFields) => void;

/** Methods that start processes. */
const STARTS: ReadonlySet<string> = new Set(['process/start', 'command/exec']);
/** Refusals of other methods that are entered: they are decided by who asks and what the settings allow. */
const AUDITED_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
	'SCOPE_MISSING',
	'FORWARD_REFUSED',
	'HTTP_REFUSED',
	'NOT_OWNER',
	'NOT_DRIVER',
]);

/** Client of a connection, as far as it is known. */
export interface AuditedClient {
	readonly peer: string;
	/** Name of its token. */
	readonly token?: string | undefined;
	/** Id of the user of this machine who connected; known where the listener looked it up. */
	readonly user?: number | undefined;
}

export interface AuditedStart {
	readonly session: string | undefined;
	readonly process: string;
	readonly pid: number | undefined;
	readonly argv: readonly string[];
	readonly sandbox: string;
	readonly trace?: string | undefined;
}

export interface AuditedAttach {
	readonly session: string;
	readonly process: string;
	readonly role: ProcessRole;
	readonly isTakeover: boolean;
}

export interface AuditedShare extends Omit<AuditedAttach, 'isTakeover'> {
	readonly expiresAtMs: number;
}

/** Parts of a request that a refusal of it tells; taken before it is handled, so that its params are not retained. */
export interface AuditedCall {
	readonly method: string;
	readonly program?: string | undefined;
	readonly process?: string | undefined;
}

/** The audit log as one connection writes it. */
export class ClientAudit {
	readonly #audit: Audit;
	readonly #client: LogFields;
	readonly #withArguments: boolean;

	constructor(write: Audit, client: AuditedClient, withArguments: boolean) {
		this.#audit = write;
		this.#client = addKnown({}, client);
		this.#withArguments = withArguments;
	}

	letIn(): void {
		this.#write('let in', {});
	}

	/** Tells the program only, unless arguments are asked for: they may hold secrets. */
	started({session, process, pid, argv, sandbox, trace}: AuditedStart): void {
		this.#write('process started', {
			session,
			process: cut(process),
			pid,
			program: cut(argv[0] ?? ''),
			arguments: this.#withArguments ? cutAll(argv.slice(1)) : undefined,
			sandbox,
			trace: toText(trace),
		});
	}

	/** Tells who looks on or drives from now on. */
	attached({session, process, role, isTakeover}: AuditedAttach): void {
		const event = isTakeover ? 'process taken over' : 'process attached';
		this.#write(event, {session, process: cut(process), role});
	}

	/** Without the token, which is a secret. */
	shared({session, process, role, expiresAtMs}: AuditedShare): void {
		const expires = new Date(expiresAtMs).toISOString();
		this.#write('process shared', {session, process: cut(process), role, expires});
	}

	describeCall(method: string, params: unknown): AuditedCall {
		if (!STARTS.has(method)) return {method};
		const {argv, processId} = (params ?? {}) as {argv?: unknown; processId?: unknown};
		const [program] = Array.isArray(argv) ? (argv as unknown[]) : [];
		return {method, program: toText(program), process: toText(processId)};
	}

	/** Enters a call that failed, if it was a start or was refused for who asked. */
	failed({method, program, process}: AuditedCall, error: unknown): void {
		const reason = error instanceof LongarmError ? error.code : error instanceof RpcError ? error.code : 'INTERNAL';
		if (STARTS.has(method)) {
			this.#write('not started', {process, program, reason});
		} else if (error instanceof LongarmError && AUDITED_CODES.has(error.code)) {
			const {scope, host} = error.context as {scope?: unknown; host?: unknown};
			this.#write('call refused', {method, reason, scope, host: toText(host)});
		}
	}

	#write(event: AuditEvent, fields: object): void {
		// Not a copy by `...`: for each member added to one V8 makes a hidden class, which stays until the next full collection.
		this.#audit(event, addKnown(addKnown({}, this.#client), fields));
	}
}

/** Address of the peer of a transport, without the kind of transport in front. */
export function addressOf({peer}: {readonly peer: string}): string {
	return peer.replace(/^\w+ /, '');
}

/** Adds the fields that have a value. */
function addKnown(target: LogFields, fields: object): LogFields {
	for (const [name, value] of Object.entries(fields)) if (value !== undefined) target[name] = value;
	return target;
}

function toText(value: unknown): string | undefined {
	return typeof value === 'string' ? cut(value) : undefined;
}

function cut(text: string, max = MAX_TEXT_CHARACTERS): string {
	return text.length > max ? text.slice(0, max) + ELLIPSIS : text;
}

function cutAll(texts: readonly string[]): string[] {
	const kept: string[] = [];
	let left = MAX_ARGUMENT_CHARACTERS;
	for (const text of texts) {
		if (left <= 0) return [...kept, ELLIPSIS];
		kept.push(cut(text, left));
		// Empty ones count as well.
		left -= text.length + 1;
	}
	return kept;
}
