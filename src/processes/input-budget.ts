/** Input of the processes of one owner that was accepted and that they have not read. */
export const MAX_OWNER_QUEUED_BYTES = 32 * 1024 * 1024;
/** Writes to the processes of one owner that wait for room. */
export const MAX_OWNER_WAITING_BYTES = 128 * 1024 * 1024;
/** The same for the processes of all owners. */
export const MAX_QUEUED_BYTES_IN_ALL = 128 * 1024 * 1024;
export const MAX_WAITING_BYTES_IN_ALL = 256 * 1024 * 1024;

/** Bounds the unread input of many processes together. A budget may have a parent, which bounds those of several owners. */
export class InputBudget {
	readonly #maxQueuedBytes: number;
	readonly #maxWaitingBytes: number;
	readonly #parent: InputBudget | undefined;
	#queuedBytes = 0;
	#waitingBytes = 0;

	/** Without a parent it is the budget of all owners. */
	constructor(parent?: InputBudget) {
		this.#parent = parent;
		this.#maxQueuedBytes = parent ? MAX_OWNER_QUEUED_BYTES : MAX_QUEUED_BYTES_IN_ALL;
		this.#maxWaitingBytes = parent ? MAX_OWNER_WAITING_BYTES : MAX_WAITING_BYTES_IN_ALL;
	}

	/** Whether a process that has unread input may be given more. */
	get hasRoom(): boolean {
		return this.#queuedBytes < this.#maxQueuedBytes && this.#parent?.hasRoom !== false;
	}

	/** Whether a write of so many bytes may wait for room. */
	mayWait(bytes: number): boolean {
		return this.#waitingBytes + bytes <= this.#maxWaitingBytes && this.#parent?.mayWait(bytes) !== false;
	}

	/** Counts accepted input; negative once the kernel has taken it, or nobody will. */
	addQueued(bytes: number): void {
		this.#queuedBytes += bytes;
		this.#parent?.addQueued(bytes);
	}

	/** Counts writes that wait. */
	addWaiting(bytes: number): void {
		this.#waitingBytes += bytes;
		this.#parent?.addWaiting(bytes);
	}
}
