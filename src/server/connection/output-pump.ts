import type {ManagedProcess} from '../../processes/managed-process.js';
import type {DriverCursor} from '../../processes/output/log-cursor.js';
import type {ProcessTable} from '../../processes/process-table.js';
import type {RpcConnection} from '../../rpc/rpc-connection.js';
import {OUTPUT_HIGH_WATER_BYTES} from './flow-control.js';
import {type SendProcessEvent, sendProcessEvent} from './process-notifications.js';

/** Output one process may send before another's turn comes. */
const TURN_BYTES = 128 * 1024;

/** A table, as far as the pump needs it. */
export type ProcessSource = Iterable<ManagedProcess> & Pick<ProcessTable, 'onAdded'>;

interface Line {
	readonly process: ManagedProcess;
	readonly cursor: DriverCursor;
	/** Whether it is in the queue of lines with something to send. */
	isQueued: boolean;
}

/**
 * Sends the events of a table's processes to a connection, which drives their logs. It pulls: output stays in the log
 * until the transport has room, so a reply never stands behind more than the high-water mark, and a client that does
 * not read pauses the children (back-pressure) instead of growing the memory.
 */
export class OutputPump {
	readonly #connection: RpcConnection;
	readonly #send: SendProcessEvent;
	readonly #lines = new Map<ManagedProcess, Line>();
	readonly #stopListening: () => void;
	#ready: Line[] = [];
	readonly #flushing: (() => void)[] = [];

	constructor(connection: RpcConnection, table: ProcessSource, send: SendProcessEvent = sendProcessEvent) {
		this.#connection = connection;
		this.#send = send;
		for (const process of table) this.#add(process);
		this.#stopListening = table.onAdded(process => this.#add(process));
	}

	/** Sends what the transport has room for, a share of each process in turn. */
	pump(): void {
		while (this.#ready.length > 0 && this.#connection.backlog < OUTPUT_HIGH_WATER_BYTES) {
			const line = this.#ready.shift()!;
			this.#sendSome(line);
			line.isQueued = !line.cursor.atEnd;
			if (line.isQueued) this.#ready.push(line);
			line.cursor.commit();
		}
		if (this.#ready.length === 0) this.#resolveFlushed();
	}

	/** Settles when the transport was handed everything said so far, or the connection is gone. */
	flushed(): Promise<void> {
		if (this.#ready.length === 0) return Promise.resolve();
		return new Promise(resolve => this.#flushing.push(resolve));
	}

	/** The connection is gone: children run on, their output stays in the logs. */
	stop(): void {
		this.#stopListening();
		for (const {cursor} of this.#lines.values()) cursor.close();
		this.#lines.clear();
		this.#ready = [];
		this.#resolveFlushed();
	}

	/** Events from here on are delivered; output from before is left to `process/read`. */
	#add(process: ManagedProcess): void {
		const line: Line = {process, cursor: process.log.drive(() => this.#enqueue(line)), isQueued: false};
		this.#lines.set(process, line);
		// A process that could not be started never closes, so nothing else would take it out.
		process.started.catch(() => this.#remove(line));
	}

	#enqueue(line: Line): void {
		if (!line.isQueued) {
			line.isQueued = true;
			this.#ready.push(line);
		}
		this.pump();
	}

	#remove({process, cursor}: Line): void {
		this.#lines.delete(process);
		cursor.close();
	}

	#resolveFlushed(): void {
		for (const resolve of this.#flushing.splice(0)) resolve();
	}

	#sendSome(line: Line): void {
		const {process, cursor} = line;
		for (let sent = 0; sent < TURN_BYTES && this.#connection.backlog < OUTPUT_HIGH_WATER_BYTES; ) {
			const event = cursor.next();
			if (!event) return;
			if (event.kind === 'output') sent += event.bytes.length;
			this.#send(this.#connection, process.id, event);
			if (event.kind === 'closed') this.#remove(line);
		}
	}
}
