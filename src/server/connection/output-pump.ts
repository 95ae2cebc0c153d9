import type {ManagedProcess} from '../../processes/managed-process.js';
import type {LogCursor} from '../../processes/output/output-log.js';
import type {RpcConnection} from '../../rpc/rpc-connection.js';
import {OUTPUT_HIGH_WATER_BYTES} from './flow-control.js';
import {type SendProcessEvent, sendProcessEvent} from './process-notifications.js';

/** Output one process may send before another's turn comes. */
const TURN_BYTES = 128 * 1024;

interface Line {
	readonly process: ManagedProcess;
	readonly cursor: LogCursor;
	waiting: boolean;
}

/**
 * Carries the events of a session's processes to the connection that holds the session. It pulls: output stays in the
 * process's log until the transport has room, so a reply never stands behind more than the high-water mark, and a
 * client that does not read makes the children wait instead of the memory grow.
 */
export class OutputPump {
	readonly #connection: RpcConnection;
	readonly #send: SendProcessEvent;
	readonly #lines = new Map<ManagedProcess, Line>();
	#ready: Line[] = [];
	readonly #emptied: (() => void)[] = [];

	constructor(
		connection: RpcConnection,
		processes: Iterable<ManagedProcess>,
		tell: SendProcessEvent = sendProcessEvent,
	) {
		this.#connection = connection;
		this.#send = tell;
		for (const process of processes) this.add(process);
	}

	/** From here on the events of this process are delivered; what came before is left to readers. */
	add(process: ManagedProcess): void {
		this.#lines.set(process, {process, cursor: process.attach(), waiting: false});
		// What could not be started never closes, so nothing else would take it out.
		process.started.catch(() => this.#lines.delete(process));
	}

	/** The process has something new. */
	changed(process: ManagedProcess): void {
		const line = this.#lines.get(process);
		if (!line) return;
		if (!line.waiting) {
			line.waiting = true;
			this.#ready.push(line);
		}
		this.pump();
	}

	/** Sends what the transport has room for, a share of each process in turn. */
	pump(): void {
		while (this.#ready.length > 0 && this.#connection.backlog < OUTPUT_HIGH_WATER_BYTES) {
			const line = this.#ready.shift()!;
			this.#sendSome(line);
			line.waiting = !line.cursor.atEnd;
			if (line.waiting) this.#ready.push(line);
			line.process.afterDelivery();
		}
		if (this.#ready.length === 0) this.#tellEmptied();
	}

	/** Settles when the transport was handed everything said so far, or the connection is gone. */
	flushed(): Promise<void> {
		if (this.#ready.length === 0) return Promise.resolve();
		return new Promise(resolve => this.#emptied.push(resolve));
	}

	/** The connection is gone: children run on, their output stays in the logs. */
	stop(): void {
		for (const {process} of this.#lines.values()) process.detach();
		this.#lines.clear();
		this.#ready = [];
		this.#tellEmptied();
	}

	#tellEmptied(): void {
		for (const resolve of this.#emptied.splice(0)) resolve();
	}

	#sendSome({process, cursor}: Line): void {
		for (let sent = 0; sent < TURN_BYTES && this.#connection.backlog < OUTPUT_HIGH_WATER_BYTES; ) {
			const event = cursor.next();
			if (!event) return;
			if (event.kind === 'output') sent += event.bytes.length;
			this.#send(this.#connection, process.id, event);
			if (event.kind === 'closed') this.#lines.delete(process);
		}
	}
}
