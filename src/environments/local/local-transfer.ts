import {toUriText} from '../../adapters/file-paths.js';
import type {
	EntryAttributes,
	PackedTree,
	PackOptions,
	TransferOutcome,
	UnpackedTree,
	UnpackOptions,
} from '../../client/files/files.js';
import {readPackedTree, writePackedTree} from '../../client/files/streams/tree-streams.js';
import type {ApplyOptions} from '../../filesystem/archive/attributes.js';
import {
	type ArchiveOutcome as LocalOutcome,
	packTree,
	setAttributes,
	unpackTree,
} from '../../filesystem/archive/index.js';
import type {BytePath} from '../../filesystem/byte-path.js';
import {withFileErrors} from '../../filesystem/file-errors.js';
import {percentEncode} from '../../protocol/path-uri/path-uri-encoding.js';
import {abandonHandle, readBlock} from './local-file-streams.js';

export async function packLocal(path: BytePath, given: string, options: PackOptions): Promise<PackedTree> {
	options.signal?.throwIfAborted();
	const tree = await packTree(path, {names: options.names?.map(percentEncode)});
	const source = {
		read: (offset: number, length: number) => readBlock(tree, offset, length),
		finish: withFileErrors(async () => {
			const outcome = await tree.finish();
			await tree.close();
			return toOutcome(outcome);
		}),
		abandon: () => abandonHandle(tree),
	};
	return readPackedTree(given, tree.totals, source, options);
}

export async function unpackLocal(
	path: BytePath,
	given: string,
	options: Omit<UnpackOptions, 'root'> & {root: BytePath | undefined},
): Promise<UnpackedTree> {
	options.signal?.throwIfAborted();
	const {overwrite = false, partial = false, sync = false, root} = options;
	const tree = await unpackTree(path, {overwrite, partial, sync, root});
	const target = {
		write: withFileErrors(async (offset: number, chunk: Uint8Array) => tree.write(chunk, offset)),
		finish: withFileErrors(async (sha256: string | undefined) => {
			const outcome = await tree.finish(sha256);
			await tree.close();
			return toOutcome(outcome);
		}),
		abandon: () => abandonHandle(tree),
	};
	return writePackedTree(given, target, options);
}

export async function setLocalAttributes(
	path: BytePath,
	entries: readonly EntryAttributes[],
	options: ApplyOptions,
): Promise<TransferOutcome['errors']> {
	return toUriErrors(
		await setAttributes(
			path,
			entries.map(entry => ({...entry, name: percentEncode(entry.name)})),
			options,
		),
	);
}

function toOutcome({errors, ...outcome}: LocalOutcome): TransferOutcome {
	return {...outcome, errors: toUriErrors(errors)};
}

function toUriErrors(errors: LocalOutcome['errors']): TransferOutcome['errors'] {
	return errors.map(({path, message}) => ({path: toUriText(path), message}));
}
