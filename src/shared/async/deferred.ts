/** Promise with its `resolve` and `reject`. Only the first call of either has an effect. */
export class Deferred<T = void> {
	readonly promise: Promise<T>;
	readonly resolve: (value: T | PromiseLike<T>) => void;
	readonly reject: (error: unknown) => void;

	constructor() {
		let settle!: [resolve: (value: T | PromiseLike<T>) => void, reject: (error: unknown) => void];
		this.promise = new Promise<T>((resolve, reject) => {
			settle = [resolve, reject];
		});
		[this.resolve, this.reject] = settle;
	}
}
