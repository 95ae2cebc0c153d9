/** Marks a promise as handled and returns it: without a listener, its rejection would end the program. */
export function ignoreRejection<T>(promise: Promise<T>): Promise<T> {
	promise.catch(() => {});
	return promise;
}
