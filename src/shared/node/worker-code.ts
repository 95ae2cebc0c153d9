/**
 * Code of the worker threads by file name. Empty in the source: the build fills it in for the library, because a program that
 * was bundled has no files beside it.
 */
export const WORKER_CODE: Readonly<Record<string, string>> = {};
