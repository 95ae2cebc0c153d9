/**
 * A time of `performance.now()` as the kernel counts it: milliseconds since the machine was started, the same for a program
 * and the one that takes its place.
 */
export function toKernelTime(ms: number): number {
	return ms + kernelOffset();
}

/** The same time for this program; negative for one before it was started. */
export function fromKernelTime(ms: number): number {
	return ms - kernelOffset();
}

function kernelOffset(): number {
	return Number(process.hrtime.bigint()) / 1e6 - performance.now();
}
