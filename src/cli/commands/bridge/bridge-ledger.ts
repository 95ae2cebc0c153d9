import type {KnownEvents} from '../../../client/session/reconcile.js';

/** Requests that may be done twice, or that the server does once by their ids. */
const REPEATABLE: ReadonlySet<string> = new Set([
	'environment/info',
	'environment/status',
	'process/read',
	'process/write',
	'process/terminate',
	'process/wait',
	'process/acknowledge',
	'process/resize',
	'fs/readFile',
	'fs/readDirectory',
	'fs/getMetadata',
	'fs/canonicalize',
]);
const EVENTS: ReadonlySet<string> = new Set(['process/output', 'process/exited', 'process/closed']);

/** A message, as far as a bridge looks into it. */
export interface BridgedMessage {
	readonly id?: number | string;
	readonly method?: string;
	readonly params?: Readonly<Record<string, unknown>>;
	readonly result?: unknown;
	readonly error?: unknown;
}

export interface PendingRequest {
	readonly id: number | string;
	readonly method: string;
	/** As the client sent it. */
	readonly text: string;
	readonly mayRepeat: boolean;
}

/** Events of a process that the client has been sent. */
export class ForwardedEvents implements KnownEvents {
	published = 0;
	hasExited = false;
	readonly #ahead = new Set<number>();

	has(seq: number): boolean {
		return seq <= this.published || this.#ahead.has(seq);
	}

	/** False for one that was there before. */
	add(seq: number): boolean {
		if (this.has(seq)) return false;
		this.#ahead.add(seq);
		while (this.#ahead.delete(this.published + 1)) this.published++;
		return true;
	}
}

/** State of a session that its client cannot be asked for: requests without an answer, and events it has. */
export class BridgeLedger {
	readonly processes = new Map<string, ForwardedEvents>();
	readonly #pending = new Map<number | string, PendingRequest>();
	#initializeId: number | string | undefined;
	clientName: unknown;
	sessionId: string | undefined;

	/** A message of the client. */
	note(message: BridgedMessage, text: string): void {
		const {id, method, params} = message;
		if (id === undefined || method === undefined) return;
		const hasWriteId = method !== 'process/write' || params?.['writeId'] !== undefined;
		this.#pending.set(id, {id, method, text, mayRepeat: REPEATABLE.has(method) && hasWriteId});
		if (method === 'initialize') {
			this.#initializeId = id;
			this.clientName = params?.['clientName'];
		}
	}

	/** Whether a message of the server is for the client: an event that it has is not. */
	take(message: BridgedMessage): boolean {
		const {id, method, params = {}} = message;
		if (method === undefined && id !== undefined) this.#takeAnswer(id, message);
		if (method === undefined || !EVENTS.has(method)) return true;
		return this.takeEvent(method, String(params['processId']), Number(params['seq']));
	}

	takeEvent(method: string, processId: string, seq: number): boolean {
		const events = this.processes.get(processId) ?? new ForwardedEvents();
		this.processes.set(processId, events);
		const isNew = events.add(seq);
		if (method === 'process/exited') events.hasExited = true;
		// Always the last one.
		if (method === 'process/closed') this.processes.delete(processId);
		return isNew;
	}

	/** Requests without an answer, oldest first; those that cannot be repeated are forgotten. */
	takePending(): PendingRequest[] {
		const pending = [...this.#pending.values()];
		for (const {id, mayRepeat} of pending) if (!mayRepeat) this.#pending.delete(id);
		return pending;
	}

	#takeAnswer(id: number | string, {result}: BridgedMessage): void {
		const request = this.#pending.get(id);
		this.#pending.delete(id);
		const answer = typeof result === 'object' && result !== null ? (result as Record<string, unknown>) : undefined;
		if (id === this.#initializeId && typeof answer?.['sessionId'] === 'string') this.sessionId = answer['sessionId'];
		if (request?.method !== 'process/start' || !answer) return;
		const {params} = JSON.parse(request.text) as BridgedMessage;
		const processId = String(params?.['processId']);
		if (!this.processes.has(processId)) this.processes.set(processId, new ForwardedEvents());
	}
}
