import type {Files, Match, Search} from '../client/files/files.js';

/**
 * Files whose implementation is loaded with the first call: most programs that run a command touch no file. Methods
 * that return a stream return it at once; it waits for the implementation when it is read or written.
 */
export class LazyFiles implements Files {
	readonly #load: () => Promise<Files>;
	#loaded: Files | undefined;

	/** `load` is asked by every call and has to give the same object. */
	constructor(load: () => Promise<Files>) {
		this.#load = load;
	}

	readonly supports: Files['supports'] = async (...given) => (await this.#files()).supports(...given);
	readonly readFile: Files['readFile'] = async (...given) => (await this.#files()).readFile(...given);
	readonly readText: Files['readText'] = async (...given) => (await this.#files()).readText(...given);
	readonly writeFile: Files['writeFile'] = async (...given) => (await this.#files()).writeFile(...given);
	readonly createDirectory: Files['createDirectory'] = async (...given) =>
		(await this.#files()).createDirectory(...given);
	readonly metadata: Files['metadata'] = async (...given) => (await this.#files()).metadata(...given);
	readonly canonicalize: Files['canonicalize'] = async (...given) => (await this.#files()).canonicalize(...given);
	readonly readDirectory: Files['readDirectory'] = async (...given) => (await this.#files()).readDirectory(...given);
	readonly walk: Files['walk'] = async (...given) => (await this.#files()).walk(...given);
	readonly remove: Files['remove'] = async (...given) => (await this.#files()).remove(...given);
	readonly copy: Files['copy'] = async (...given) => (await this.#files()).copy(...given);
	readonly rename: Files['rename'] = async (...given) => (await this.#files()).rename(...given);
	readonly watch: Files['watch'] = async (...given) => (await this.#files()).watch(...given);
	readonly watchMissing: Files['watchMissing'] = async (...given) => (await this.#files()).watchMissing(...given);
	readonly digest: Files['digest'] = async (...given) => (await this.#files()).digest(...given);
	readonly setAttributes: Files['setAttributes'] = async (...given) => (await this.#files()).setAttributes(...given);
	readonly pack: Files['pack'] = async (...given) => (await this.#files()).pack(...given);
	readonly unpack: Files['unpack'] = async (...given) => (await this.#files()).unpack(...given);

	readonly stat: Files['stat'] = async (...given) => (await this.#files()).stat(...given);
	readonly exists: Files['exists'] = async (...given) => (await this.#files()).exists(...given);
	readonly readdir: Files['readdir'] = async (...given) => (await this.#files()).readdir(...given);
	readonly mkdir: Files['mkdir'] = async (...given) => (await this.#files()).mkdir(...given);
	readonly rm: Files['rm'] = async (...given) => (await this.#files()).rm(...given);

	readonly readStream: Files['readStream'] = (...given) =>
		this.#loaded?.readStream(...given) ?? lazyReadable(async () => (await this.#files()).readStream(...given));
	readonly writeStream: Files['writeStream'] = (...given) =>
		this.#loaded?.writeStream(...given) ?? lazyWritable(async () => (await this.#files()).writeStream(...given));
	readonly search: Files['search'] = (...given) =>
		this.#loaded?.search(...given) ?? new LazySearch(this.#files().then(files => files.search(...given)));
	readonly list: Files['list'] = (...given) =>
		this.#loaded?.list(...given) ?? lazyIterable(async () => (await this.#files()).list(...given));

	async #files(): Promise<Files> {
		this.#loaded = await this.#load();
		return this.#loaded;
	}
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
