import type {ProcessHandle, TerminateMode} from '../../../../client/process/process-handle.js';
import {DisconnectedError} from '../../../../rpc/disconnected-error.js';
import type {WindowSize} from './own-terminal.js';
import type {PassedOn, SignalTarget} from './signal-relay.js';

/** A process that has to end is asked first, and has this long. */
export const GRACE_MS = 1000;

/** Whether the executor has something beyond what all of them have; one of the `capabilities` it tells. */
export type Can = (capability: string) => boolean;

/** How a process is steered, with what its executor knows. What cannot be told to it shows in its end. */
export class ProcessControl implements SignalTarget {
	readonly #process: ProcessHandle;
	readonly #can: Can;
	readonly #isLinkUp: () => boolean;

	constructor(process: ProcessHandle, can: Can, isLinkUp: () => boolean) {
		this.#process = process;
		this.#can = can;
		this.#isLinkUp = isLinkUp;
	}

	get isReachable(): boolean {
		return this.#isLinkUp();
	}

	signal(name: PassedOn | 'SIGPIPE'): void {
		if (name === 'SIGINT') attempt(this.#process.signal('interrupt'));
		else if (this.#can('processSignalByName')) attempt(this.#process.signal({name}));
		else this.endGently();
	}

	/** Asks the process to end, and kills it after a while. */
	endGently(): void {
		if (this.#can('processTerminateMode')) {
			attempt(this.#terminate({graceful: {timeoutMs: GRACE_MS}}));
			return;
		}
		attempt(this.#process.signal('interrupt'));
		setTimeout(() => this.kill(), GRACE_MS);
	}

	resize(size: WindowSize): void {
		attempt(this.#process.resize(size));
	}

	kill(): void {
		attempt(this.#terminate());
	}

	/** May be said twice, so it is said again when the link broke meanwhile. */
	async #terminate(mode?: TerminateMode): Promise<void> {
		while (!this.#process.isOver) {
			try {
				await this.#process.terminate(mode);
				return;
			} catch (error) {
				if (!(error instanceof DisconnectedError)) throw error;
			}
		}
	}
}

function attempt(call: Promise<unknown>): void {
	call.catch(() => {});
}
