import type {Files, Match, Search} from '../client/files/files.js';

/**
 * Files whose implementation is loaded with the first call: most programs that run a command touch no file. Methods
 * that return a stream return it at once; it waits for the implementation when it is read or written.
 */
export class LazyFiles implements Files {
	readonly #load: (isSandboxed: boolean) => Promise<Files>;
	readonly #loaded = new Map<boolean, Files>();

	/** `load` is asked by every call and has to give the same object; a call with a sandbox may need another one. */
	constructor(load: (isSandboxed: boolean) => Promise<Files>) {
		this.#load = load;
	}

	readonly supports: Files['supports'] = async (...given) => (await this.#files(given)).supports(...given);
	readonly readFile: Files['readFile'] = async (...given) => (await this.#files(given)).readFile(...given);
	readonly readText: Files['readText'] = async (...given) => (await this.#files(given)).readText(...given);
	readonly writeFile: Files['writeFile'] = async (...given) => (await this.#files(given)).writeFile(...given);
	readonly createDirectory: Files['createDirectory'] = async (...given) =>
		(await this.#files(given)).createDirectory(...given);
	readonly metadata: Files['metadata'] = async (...given) => (await this.#files(given)).metadata(...given);
	readonly canonicalize: Files['canonicalize'] = async (...given) => (await this.#files(given)).canonicalize(...given);
	readonly readDirectory: Files['readDirectory'] = async (...given) =>
		(await this.#files(given)).readDirectory(...given);
	readonly walk: Files['walk'] = async (...given) => (await this.#files(given)).walk(...given);
	readonly remove: Files['remove'] = async (...given) => (await this.#files(given)).remove(...given);
	readonly copy: Files['copy'] = async (...given) => (await this.#files(given)).copy(...given);
	readonly rename: Files['rename'] = async (...given) => (await this.#files(given)).rename(...given);
	readonly watch: Files['watch'] = async (...given) => (await this.#files(given)).watch(...given);
	readonly watchMissing: Files['watchMissing'] = async (...given) => (await this.#files(given)).watchMissing(...given);
	readonly digest: Files['digest'] = async (...given) => (await this.#files(given)).digest(...given);
	readonly setAttributes: Files['setAttributes'] = async (...given) =>
		(await this.#files(given)).setAttributes(...given);
	readonly pack: Files['pack'] = async (...given) => (await this.#files(given)).pack(...given);
	readonly unpack: Files['unpack'] = async (...given) => (await this.#files(given)).unpack(...given);

	readonly stat: Files['stat'] = async (...given) => (await this.#files(given)).stat(...given);
	readonly exists: Files['exists'] = async (...given) => (await this.#files(given)).exists(...given);
	readonly readdir: Files['readdir'] = async (...given) => (await this.#files(given)).readdir(...given);
	readonly mkdir: Files['mkdir'] = async (...given) => (await this.#files(given)).mkdir(...given);
	readonly rm: Files['rm'] = async (...given) => (await this.#files(given)).rm(...given);

	readonly readStream: Files['readStream'] = (...given) =>
		this.#loadedFor(given)?.readStream(...given) ??
		lazyReadable(async () => (await this.#files(given)).readStream(...given));
	readonly writeStream: Files['writeStream'] = (...given) =>
		this.#loadedFor(given)?.writeStream(...given) ??
		lazyWritable(async () => (await this.#files(given)).writeStream(...given));
	readonly search: Files['search'] = (...given) =>
		this.#loadedFor(given)?.search(...given) ??
		new LazySearch(this.#files(given).then(files => files.search(...given)));
	readonly list: Files['list'] = (...given) =>
		this.#loadedFor(given)?.list(...given) ?? lazyIterable(async () => (await this.#files(given)).list(...given));

	async #files(given: readonly unknown[]): Promise<Files> {
		const isSandboxed = hasSandbox(given);
		const files = await this.#load(isSandboxed);
		this.#loaded.set(isSandboxed, files);
		return files;
	}

	#loadedFor(given: readonly unknown[]): Files | undefined {
		return this.#loaded.get(hasSandbox(given));
	}
}

/** Options are the last argument, except of a search, whose query has them. */
function hasSandbox(given: readonly unknown[]): boolean {
	return given.some(
		value => typeof value === 'object' && value !== null && 'sandbox' in value && Boolean(value.sandbox),
	);
}

/** Nothing is read ahead: the stream behind it does that. */
function lazyReadable<T>(load: () => Promise<ReadableStream<T>>): ReadableStream<T> {
	const opened = load().then(stream => stream.getReader());
	return new ReadableStream<T>(
		{
			start: async controller => {
				(await opened).closed.catch((error: unknown) => controller.error(error));
			},
			pull: async controller => {
				const {done, value} = await (await opened).read();
				if (done) controller.close();
				else controller.enqueue(value);
			},
			cancel: async reason => (await opened).cancel(reason),
		},
		{highWaterMark: 0},
	);
}

function lazyWritable<T>(load: () => Promise<WritableStream<T>>): WritableStream<T> {
	const opened = load().then(stream => stream.getWriter());
	return new WritableStream<T>({
		start: async controller => {
			(await opened).closed.catch((error: unknown) => controller.error(error));
		},
		write: async chunk => (await opened).write(chunk),
		close: async () => (await opened).close(),
		abort: async reason => (await opened).abort(reason),
	});
}

class LazySearch implements Search {
	readonly outcome: Search['outcome'];
	readonly #search: Promise<Search>;

	constructor(search: Promise<Search>) {
		this.#search = search;
		this.outcome = search.then(({outcome}) => outcome);
		// A reader of the matches alone hears of a failure there.
		this.outcome.catch(() => {});
	}

	async next(): Promise<IteratorResult<Match>> {
		return (await this.#search).next();
	}

	async return(): Promise<IteratorResult<Match>> {
		await (await this.#search).return?.();
		return {done: true, value: undefined};
	}

	[Symbol.asyncIterator](): this {
		return this;
	}
}

async function* lazyIterable<T>(load: () => Promise<AsyncIterable<T>>): AsyncGenerator<T, void, void> {
	yield* await load();
}
