import type {Path} from '../../paths.js';
import {describePath} from '../../paths.js';
import {FileError} from '../file-error.js';
import type {Files, Progress} from '../files.js';
import {BlockDigest} from '../streams/block-digest.js';
import {isFree, requireFreeTarget} from './file-location.js';
import {Relocation} from './relocation.js';
import type {TransferOptions, TransferResult, TransferRoute} from './transfer.js';

/** One file, for executors that know no transfers. */
export async function plainFile(
	route: TransferRoute,
	options: TransferOptions,
	size: number | undefined,
): Promise<TransferResult> {
	const total = size === undefined ? undefined : {entries: 1, bytes: size};
	const copying = new PlainCopy(route, options, total);
	await copying.file(route.from.path, route.to.path);
	return copying.result([]);
}

/** A tree file by file: what a walk finds, contents only. Links and special files are left out. */
export async function plainTree(route: TransferRoute, options: TransferOptions): Promise<TransferResult> {
	const {from, to} = route;
	// A walk does not enter a link, not even at its beginning.
	const root = await from.files.canonicalize(from.path);
	const {entries, errors, truncated} = await from.files.walk(root);
	if (truncated) {
		const message = 'the tree is too large to be copied file by file';
		throw new FileError('refused', message, {path: describePath(from.path)});
	}
	const mustBeFree = !options.overwrite && !(await isFree(to));
	const relocation = new Relocation(root, to.path);
	const copying = new PlainCopy(route, options, undefined);
	await copying.directory(to.path);
	for (const {path, kind} of entries) {
		options.signal?.throwIfAborted();
		const target = relocation.of(path);
		if (kind === 'directory') {
			await copying.directory(target);
			continue;
		}
		if (mustBeFree) await requireFreeTarget({files: to.files, path: target});
		await copying.file(path, target);
	}
	return copying.result(errors);
}

class PlainCopy {
	readonly #from: Files;
	readonly #to: Files;
	readonly #options: TransferOptions;
	readonly #total: Progress | undefined;
	#entries = 0;
	#bytes = 0;

	constructor({from, to}: TransferRoute, options: TransferOptions, total: Progress | undefined) {
		this.#from = from.files;
		this.#to = to.files;
		this.#options = options;
		this.#total = total;
	}

	async directory(path: Path): Promise<void> {
		await this.#to.createDirectory(path);
		this.#entries++;
		this.#tell();
	}

	async file(from: Path, to: Path): Promise<void> {
		const {signal, verify} = this.#options;
		const before = this.#bytes;
		const digest = verify ? new BlockDigest() : undefined;
		const counted = new TransformStream<Uint8Array, Uint8Array>({
			transform: async (chunk, controller) => {
				await digest?.add(chunk);
				controller.enqueue(chunk);
				this.#bytes += chunk.length;
				this.#tell();
			},
		});
		await this.#from
			.readStream(from)
			.pipeThrough(counted)
			.pipeTo(this.#to.writeStream(to), signal && {signal});
		await this.#requireSize(to, this.#bytes - before);
		if (digest && (await this.#readBack(to)) !== (await digest.finish())) throw damaged(to);
		this.#entries++;
		this.#tell();
	}

	result(errors: TransferResult['errors']): TransferResult {
		const checked = this.#options.verify ? 'read-back' : 'size';
		return {entries: this.#entries, bytes: this.#bytes, errors, checked};
	}

	/** Not every executor tells sizes. */
	async #requireSize(path: Path, expected: number): Promise<void> {
		const {size} = await this.#to.metadata(path);
		if (size !== undefined && size !== expected) throw damaged(path);
	}

	async #readBack(path: Path): Promise<string> {
		const digest = new BlockDigest();
		const {signal} = this.#options;
		const sink = new WritableStream<Uint8Array>({write: chunk => digest.add(chunk)});
		await this.#to.readStream(path).pipeTo(sink, signal && {signal});
		return digest.finish();
	}

	#tell(): void {
		this.#options.progress?.({entries: this.#entries, bytes: this.#bytes, total: this.#total});
	}
}

function damaged(path: Path): FileError {
	return new FileError('damaged', 'what arrived is not what was sent', {path: describePath(path)});
}
