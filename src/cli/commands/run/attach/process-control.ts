import type {ProcessHandle} from '../../../../client/process/process-handle.js';
import type {WindowSize} from './own-terminal.js';
import type {RelayedSignal, SignalTarget} from './signal-relay.js';

/** Grace period between asking a process to end and killing it. */
export const GRACE_MS = 1000;

/** Whether a server announced the capability. */
export type HasCapability = (capability: string) => boolean;

/** Signals, resizes and ends a process, with the capabilities its server has. Failures show in the exit of the process. */
export class ProcessControl implements SignalTarget {
	readonly #process: ProcessHandle;
	readonly #can: HasCapability;
	readonly #isLinkUp: () => boolean;
	readonly isWaitedFor: boolean;

	constructor(
		process: ProcessHandle,
		can: HasCapability,
		{isLinkUp, isWaitedFor}: {readonly isLinkUp: () => boolean; readonly isWaitedFor: boolean},
	) {
		this.#process = process;
		this.#can = can;
		this.#isLinkUp = isLinkUp;
		this.isWaitedFor = isWaitedFor;
	}

	get isReachable(): boolean {
		return this.#isLinkUp();
	}

	signal(name: RelayedSignal | 'SIGPIPE'): void {
		if (name === 'SIGINT') ignoreFailure(this.#process.signal('interrupt'));
		else if (this.#can('processSignalByName')) ignoreFailure(this.#process.signal({name}));
		else this.endGently();
	}

	/** Asks the process to end, and kills it after a while. */
	endGently(): void {
		if (this.#can('processTerminateMode')) {
			ignoreFailure(this.#process.terminate({graceful: {timeoutMs: GRACE_MS}}));
			return;
		}
		ignoreFailure(this.#process.signal('interrupt'));
		setTimeout(() => this.kill(), GRACE_MS);
	}

	resize(size: WindowSize): void {
		ignoreFailure(this.#process.resize(size));
	}

	kill(): void {
		ignoreFailure(this.#process.terminate());
	}
}

function ignoreFailure(call: Promise<unknown>): void {
	call.catch(() => {});
}
