import {METHODS} from '../../protocol/methods/method-table.js';
import {decode} from '../../protocol/wire/decode.js';
import type {Notification} from '../../protocol/wire/envelope.js';
import {type Gap, type NumberedEvent, payloadOf} from '../process/process-handle.js';
import type {RemoteProcess} from '../process/remote-process.js';
import type {ProcessChange} from '../process/shared-process.js';

/** Notifications of unknown processes that are kept while a client attaches, and their payload. */
export const MAX_EARLY_NOTIFICATIONS = 1024;
export const MAX_EARLY_BYTES = 4 * 1024 * 1024;

type Delivery = {readonly processId: string} & (
	| {readonly event: NumberedEvent | Gap}
	| {readonly change: ProcessChange}
);

/** Processes of a client by the ids that notifications have. */
export class ProcessRegistry {
	readonly #reportsReasons: () => boolean;
	readonly #processes = new Map<string, RemoteProcess>();
	/** The events of an attached process may come before the reply that tells its id. */
	#early: Delivery[] = [];
	#earlyBytes = 0;
	#hasDroppedEarly = false;
	#pendingAttaches = 0;

	/** `reportsReasons` tells whether the server names the cause of every exit but a plain one. */
	constructor(reportsReasons: () => boolean) {
		this.#reportsReasons = reportsReasons;
	}

	[Symbol.iterator](): IterableIterator<RemoteProcess> {
		return this.#processes.values();
	}

	get(processId: string): RemoteProcess | undefined {
		return this.#processes.get(processId);
	}

	/** The process of this id, else the living one of this name. */
	find(idOrName: string): RemoteProcess | undefined {
		return this.get(idOrName) ?? [...this].find(({name, isOver}) => name === idOrName && !isOver);
	}

	add(process: RemoteProcess): void {
		this.#processes.set(process.processId, process);
	}

	delete(process: RemoteProcess): void {
		for (const [id, each] of this.#processes) if (each === process) this.#processes.delete(id);
	}

	clear(): void {
		this.#processes.clear();
	}

	/** Removes processes without further events. */
	sweep(): void {
		for (const process of this) if (process.isOver) this.delete(process);
	}

	/**
	 * Keeps notifications of unknown processes while the request is pending; those of the process that `use` returns for the
	 * reply are delivered then. False if some were dropped, so that it has to be read.
	 */
	async duringAttach<T>(request: () => Promise<T>, use: (reply: T) => RemoteProcess): Promise<boolean> {
		this.#pendingAttaches++;
		try {
			const process = use(await request());
			this.delete(process);
			this.add(process);
			this.#deliverEarly(process);
			return !this.#hasDroppedEarly;
		} finally {
			if (--this.#pendingAttaches === 0) {
				this.#early = [];
				this.#earlyBytes = 0;
				this.#hasDroppedEarly = false;
			}
		}
	}

	/** Hands a notification to its process; ignores it if there is none. */
	receive(notification: Notification): void {
		const delivery = toDelivery(notification, this.#reportsReasons);
		if (!delivery) return;
		const process = this.#processes.get(delivery.processId);
		if (process) this.#deliver(process, delivery);
		else if (this.#pendingAttaches > 0) this.#keep(delivery);
	}

	#deliver(process: RemoteProcess, delivery: Delivery): void {
		if ('change' in delivery) return process.receiveChange(delivery.change);
		process.receive(delivery.event);
		if (process.isOver) this.delete(process);
	}

	#deliverEarly(process: RemoteProcess): void {
		const {processId} = process;
		const own = this.#early.filter(each => each.processId === processId);
		this.#early = this.#early.filter(each => each.processId !== processId);
		for (const delivery of own) this.#deliver(process, delivery);
	}

	#keep(delivery: Delivery): void {
		this.#earlyBytes += 'event' in delivery ? payloadOf(delivery.event) : 0;
		if (this.#early.length < MAX_EARLY_NOTIFICATIONS && this.#earlyBytes <= MAX_EARLY_BYTES) this.#early.push(delivery);
		else this.#hasDroppedEarly = true;
	}
}

function toDelivery({method, params}: Notification, reportsReasons: () => boolean): Delivery | undefined {
	switch (method) {
		case 'process/output': {
			const {processId, seq, stream, chunk} = decode(METHODS[method].params, params);
			return {processId, event: {kind: 'output', seq, stream, bytes: chunk}};
		}
		case 'process/exited': {
			const {processId, seq, exitCode, ...rest} = decode(METHODS[method].params, params);
			const reason = rest.reason ?? (reportsReasons() ? 'exit' : undefined);
			const sandboxDenied = rest.sandboxDenied ?? undefined;
			return {processId, event: {kind: 'exited', seq, exitCode, sandboxDenied, reason}};
		}
		case 'process/closed': {
			const {processId, seq} = decode(METHODS[method].params, params);
			return {processId, event: {kind: 'closed', seq}};
		}
		case 'process/gap': {
			const {processId, ...gap} = decode(METHODS[method].params, params);
			return {processId, event: {kind: 'gap', ...gap}};
		}
		case 'process/attached':
		case 'process/detached': {
			const {processId, ...who} = decode(METHODS[method].params, params);
			return {processId, change: {kind: method === 'process/attached' ? 'attached' : 'detached', ...who}};
		}
		case 'process/driverChanged': {
			const {processId, driver, previous, reason} = decode(METHODS[method].params, params);
			const change = {driver: driver ?? undefined, previous: previous ?? undefined, reason};
			return {processId, change: {kind: 'driverChanged', ...change}};
		}
		case 'process/resized': {
			const {processId, ...size} = decode(METHODS[method].params, params);
			return {processId, change: {kind: 'resized', ...size}};
		}
		default:
			return undefined;
	}
}
