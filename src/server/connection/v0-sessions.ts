import type {ManagedProcess} from '../../processes/managed-process.js';
import type {StartRequest} from '../../processes/prepare-spawn.js';
import type {ProcessTable} from '../../processes/process-table.js';
import type {RpcConnection} from '../../rpc/rpc-connection.js';
import {OutputPump} from './output-pump.js';
import {sendProcessEventV0} from './process-notifications.js';

/** Processes of the first protocol: named by the server, unknown after their exit, ended with the connection. */
export class V0Sessions {
	readonly #table: ProcessTable;
	readonly #pump: OutputPump;
	#count = 0;

	constructor(connection: RpcConnection, table: ProcessTable) {
		this.#table = table;
		this.#pump = new OutputPump(connection, table, sendProcessEventV0);
	}

	start(request: StartRequest): Promise<ManagedProcess> {
		return this.#table.start(`session-${++this.#count}`, request);
	}

	/** Undefined once the process has exited. */
	find(id: string): ManagedProcess | undefined {
		const process = this.#table.find(id);
		return process?.isAlive ? process : undefined;
	}

	/** Sends pending output; called when the transport drained. */
	pump(): void {
		this.#pump.pump();
	}

	/** All output so far was handed to the transport. */
	get isFlushed(): boolean {
		return this.#pump.isFlushed;
	}

	get isRunningProcesses(): boolean {
		return this.#table.hasLiving;
	}

	close(): void {
		this.#pump.stop();
		this.#table.endAll('force');
		this.#table.dispose();
	}
}
