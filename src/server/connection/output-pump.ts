import type {ManagedProcess} from '../../processes/managed-process.js';
import type {DriverCursor} from '../../processes/output/log-cursor.js';
import type {ProcessTable} from '../../processes/process-table.js';
import type {RpcConnection} from '../../rpc/rpc-connection.js';
import {OUTPUT_HIGH_WATER_BYTES} from './flow-control.js';
import {type SendProcessEvent, sendProcessEvent} from './process-notifications.js';

/** Round-robin quantum: output one process may send before the next one's turn. */
const MAX_BYTES_PER_TURN = 128 * 1024;

/** The part of a process table the pump needs. */
export type ProcessSource = Iterable<ManagedProcess> & Pick<ProcessTable, 'onAdded'>;

interface PumpEntry {
	readonly process: ManagedProcess;
	readonly cursor: DriverCursor;
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

	constructor(connection: RpcConnection, table: ProcessSource, send: SendProcessEvent = sendProcessEvent) {
		this.#connection = connection;
		this.#send = send;
		for (const process of table) this.#add(process);
		this.#stopListening = table.onAdded(process => this.#add(process));
	}

	/** Sends output until the transport's high-water mark is reached, round-robin over the processes. */
	pump(): void {
		while (this.#ready.length > 0 && this.#connection.backlog < OUTPUT_HIGH_WATER_BYTES) {
			const entry = this.#ready.shift()!;
			this.#sendTurn(entry);
			entry.isQueued = !entry.cursor.isAtEnd;
			if (entry.isQueued) this.#ready.push(entry);
			entry.cursor.commit();
		}
		if (this.#ready.length === 0) this.#resolveFlushed();
	}

	/** Resolves when all output so far was handed to the transport, or the connection closed. */
	whenFlushed(): Promise<void> {
		if (this.#ready.length === 0) return Promise.resolve();
		return new Promise(resolve => this.#flushWaiters.push(resolve));
	}

	/** Detaches from the logs when the connection closes: children run on, their output stays in the logs. */
	stop(): void {
		this.#stopListening();
		for (const {cursor} of this.#entries.values()) cursor.close();
		this.#entries.clear();
		this.#ready = [];
		this.#resolveFlushed();
	}

	/** Events from now on are sent; earlier output is left to `process/read`. */
	#add(process: ManagedProcess): void {
		const entry: PumpEntry = {process, cursor: process.log.drive(() => this.#enqueue(entry)), isQueued: false};
		this.#entries.set(process, entry);
		// A process that could not be started never closes, so nothing else would remove it.
		process.started.catch(() => this.#remove(entry));
	}

	#enqueue(entry: PumpEntry): void {
		if (!entry.isQueued) {
			entry.isQueued = true;
			this.#ready.push(entry);
		}
		this.pump();
	}

	#remove({process, cursor}: PumpEntry): void {
		this.#entries.delete(process);
		cursor.close();
	}

	#resolveFlushed(): void {
		for (const resolve of this.#flushWaiters.splice(0)) resolve();
	}

	#sendTurn(entry: PumpEntry): void {
		const {process, cursor} = entry;
		for (let sent = 0; sent < MAX_BYTES_PER_TURN && this.#connection.backlog < OUTPUT_HIGH_WATER_BYTES; ) {
			const event = cursor.next();
			if (!event) return;
			if (event.kind === 'output') sent += event.bytes.length;
			this.#send(this.#connection, process.id, event);
			if (event.kind === 'closed') this.#remove(entry);
		}
	}
}
