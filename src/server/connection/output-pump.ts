import type {ManagedProcess} from '../../processes/managed-process.js';
import type {DriverCursor, ObserverCursor} from '../../processes/output/log-cursor.js';
import type {ProcessTable} from '../../processes/process-table.js';
import type {RpcConnection} from '../../rpc/rpc-connection.js';
import {OUTPUT_HIGH_WATER_BYTES} from './flow-control.js';
import {type SendProcessEvent, sendProcessEvent} from './process-notifications.js';
import {SharedOutput} from './shared-output.js';

/** Round-robin quantum: output one process may send before the next one's turn. */
const MAX_BYTES_PER_TURN = 128 * 1024;

const DRIVEN: Delivery = {drives: true};

/** The part of a process table the pump needs. */
export type ProcessSource = Iterable<ManagedProcess> & Pick<ProcessTable, 'onAdded'>;

/** How the events of a process are delivered. */
export interface Delivery {
	/** Id the client knows the process by; its own by default. */
	readonly processId?: string | undefined;
	/** Events after this one; from the present end by default. */
	readonly afterSeq?: number | undefined;
	/** Whether the process waits for this connection. */
	readonly drives: boolean;
}

interface PumpEntry {
	readonly process: ManagedProcess;
	readonly processId: string;
	cursor: DriverCursor | ObserverCursor;
	/** True if it is in the queue of entries with something to send. */
	isQueued: boolean;
}

/**
 * Sends the events of a table's processes to a connection, which drives their logs. It pulls: output stays in the log
 * until the transport has room, so a reply never queues behind more than the high-water mark, and a client that does
 * not read pauses the children (back-pressure) instead of growing the memory.
 */
export class OutputPump {
	readonly #connection: RpcConnection;
	readonly #send: SendProcessEvent;
	readonly #entries = new Map<ManagedProcess, PumpEntry>();
	readonly #stopListening: () => void;
	#ready: PumpEntry[] = [];
	readonly #flushWaiters: (() => void)[] = [];

	/** `deliveryOf` says how processes of the table are delivered: undefined for one that is not. */
	constructor(
		connection: RpcConnection,
		table: ProcessSource,
		send: SendProcessEvent = sendProcessEvent,
		deliveryOf: (process: ManagedProcess) => Delivery = () => DRIVEN,
	) {
		this.#connection = connection;
		this.#send = send;
		for (const process of table) this.deliver(process, deliveryOf(process));
		this.#stopListening = table.onAdded(process => this.deliver(process, DRIVEN));
	}

	/** Sends events from now on, or again from another point; earlier output is left to `process/read`. */
	deliver(process: ManagedProcess, {processId = process.id, afterSeq, drives}: Delivery): void {
		const earlier = this.#entries.get(process);
		if (earlier) this.#remove(earlier);
		const wake = (): void => this.#enqueue(entry);
		const entry: PumpEntry = {
			process,
			processId,
			cursor: drives
				? process.log.drive(wake, afterSeq)
				: process.log.observe(afterSeq ?? Number.MAX_SAFE_INTEGER, wake),
			isQueued: false,
		};
		this.#entries.set(process, entry);
		process.deliveryCount++;
		// A process that could not be started never closes, so nothing else would remove it.
		process.started.catch(() => this.#remove(entry));
		// Not at once: the reply to the request that asked for it comes first.
		if (!entry.cursor.isAtEnd) setImmediate(() => this.#entries.get(process) === entry && this.#enqueue(entry));
	}

	/** From now on the process waits for this connection, or no longer; the position stays. */
	setDriving(process: ManagedProcess, drives: boolean): void {
		const entry = this.#entries.get(process);
		if (!entry) return;
		const {seq} = entry.cursor;
		entry.cursor.close();
		const wake = (): void => this.#enqueue(entry);
		entry.cursor = drives ? process.log.drive(wake, seq) : process.log.observe(seq, wake);
	}

	/** Sends no more events of the process. */
	endDelivery(process: ManagedProcess): void {
		const entry = this.#entries.get(process);
		if (entry) this.#remove(entry);
	}

	/** Sends output until the transport's high-water mark is reached, round-robin over the processes. */
	pump(): void {
		while (this.#ready.length > 0 && this.#connection.backlog < OUTPUT_HIGH_WATER_BYTES) {
			const entry = this.#ready.shift()!;
			// Its delivery was ended, or began again elsewhere.
			if (this.#entries.get(entry.process) !== entry) continue;
			this.#sendTurn(entry);
			entry.isQueued = !entry.cursor.isAtEnd;
			if (entry.isQueued) this.#ready.push(entry);
			entry.cursor.commit();
		}
		if (this.#ready.length === 0) this.#resolveFlushed();
	}

	/** All output so far was handed to the transport. */
	get isFlushed(): boolean {
		return this.#ready.length === 0;
	}

	/** Resolves when all output so far was handed to the transport, or the connection closed. */
	whenFlushed(): Promise<void> {
		if (this.#ready.length === 0) return Promise.resolve();
		return new Promise(resolve => this.#flushWaiters.push(resolve));
	}

	/** Detaches from the logs when the connection closes: children run on, their output stays in the logs. */
	stop(): void {
		this.#stopListening();
		for (const entry of this.#entries.values()) this.#remove(entry);
		this.#ready = [];
		this.#resolveFlushed();
	}

	#enqueue(entry: PumpEntry): void {
		if (!entry.isQueued) {
			entry.isQueued = true;
			this.#ready.push(entry);
		}
		this.pump();
	}

	#remove(entry: PumpEntry): void {
		const {process, cursor} = entry;
		cursor.close();
		if (this.#entries.get(process) !== entry) return;
		this.#entries.delete(process);
		if (--process.deliveryCount === 1) SharedOutput.forget(process.log);
	}

	#resolveFlushed(): void {
		for (const resolve of this.#flushWaiters.splice(0)) resolve();
	}

	#sendTurn(entry: PumpEntry): void {
		const {processId, cursor, process} = entry;
		// The first protocol has messages of its own, and shares nothing.
		if (process.deliveryCount > 1 && this.#send === sendProcessEvent) {
			this.#sendSharedTurn(entry, SharedOutput.of(process.log, processId));
			return;
		}
		for (let sent = 0; sent < MAX_BYTES_PER_TURN && this.#connection.backlog < OUTPUT_HIGH_WATER_BYTES; ) {
			const event = cursor.next();
			if (!event) return;
			if (event.kind === 'output') sent += event.bytes.length;
			this.#send(this.#connection, processId, event);
			if (event.kind === 'closed') this.#remove(entry);
		}
	}

	/** The same for a process that others watch, too: what one connection has encoded the others send as it is. */
	#sendSharedTurn(entry: PumpEntry, shared: SharedOutput): void {
		const {processId, cursor} = entry;
		for (let sent = 0; sent < MAX_BYTES_PER_TURN && this.#connection.backlog < OUTPUT_HIGH_WATER_BYTES; ) {
			const known = shared.find(cursor.seq + 1);
			const skipped = known && cursor.skipOnDisk();
			if (known && skipped !== undefined) {
				sent += skipped;
				this.#connection.sendShared(known);
				continue;
			}
			const event = cursor.next();
			if (!event) return;
			if (event.kind === 'output') {
				sent += event.bytes.length;
				this.#connection.sendShared(shared.find(event.seq) ?? shared.add(event));
				continue;
			}
			this.#send(this.#connection, processId, event);
			if (event.kind === 'closed') this.#remove(entry);
		}
	}
}
