/** Resource limits of every child and its descendants. Absent limits are those of the server. */
export interface ChildLimits {
	/** Bytes of data of one process (RLIMIT_DATA); reserved address space does not count. */
	readonly memoryBytes?: number | undefined;
	/** Processes and threads of the user, the server's own included: the kernel counts by user. */
	readonly processes?: number | undefined;
	/** File descriptors one process may have open. */
	readonly openFiles?: number | undefined;
	/** Bytes one file may grow to. */
	readonly fileBytes?: number | undefined;
	/** Seconds of processor time one process may use. */
	readonly cpuSeconds?: number | undefined;
	/** Scheduling priority: 0 to 19, higher gets less processor time under contention. */
	readonly nice?: number | undefined;
	/** `oom_score_adj`, 0 to 1000: higher is killed sooner when memory runs out. */
	readonly oomScore?: number | undefined;
	/** Control group that limits all children together. */
	readonly group?: {readonly path?: string; add(pid: number): void} | undefined;
}

/** Above the score of the server, so that the OOM killer picks children first. */
export const DEFAULT_OOM_SCORE = 500;
