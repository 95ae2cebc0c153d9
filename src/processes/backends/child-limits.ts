/** What every child, and whatever it starts, is held to. What is not said is as it is for the server. */
export interface ChildLimits {
	/** Bytes of data one process may have; a program that only reserves addresses does not count. */
	readonly memoryBytes?: number | undefined;
	/** Processes and threads of the user, the server's own included: the kernel counts by user. */
	readonly processes?: number | undefined;
	/** Descriptors one process may have open. */
	readonly openFiles?: number | undefined;
	/** Bytes one file may grow to. */
	readonly fileBytes?: number | undefined;
	/** Seconds of processor time one process may use. */
	readonly cpuSeconds?: number | undefined;
	/** How much less often it gets its turn when there is not enough for all: 0 to 19. */
	readonly nice?: number | undefined;
	/** How much sooner than others it is ended when memory runs out: 0 to 1000. */
	readonly oomScore?: number | undefined;
	/** What all of them together are held to. */
	readonly group?: {add(pid: number): void} | undefined;
}

/** Children go before the server when the machine runs out of memory. */
export const DEFAULT_OOM_SCORE = 500;
