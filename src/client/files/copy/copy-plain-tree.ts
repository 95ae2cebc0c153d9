import {PathUri} from '../../../protocol/path-uri/path-uri.js';
import {describePath, toPathUri} from '../../paths.js';
import {FileError} from '../file-error.js';
import type {FileLocation, RootedLocation, UriLocation} from '../file-location.js';
import type {WalkOutcome} from '../files.js';
import {guardLinks, rootedAt} from './guard-links.js';
import {Relocation} from './relocation.js';

/** Steps of a copy file by file; the walk decides their order. */
export interface PlainTreeSteps {
	createDirectory(target: UriLocation): Promise<void>;
	/** Takes the directories that could not be read, once the root of the target is there. */
	reportErrors(errors: WalkOutcome['errors']): void;
	copyFile(source: UriLocation, target: UriLocation): Promise<void>;
	/** Runs the step of one entry; a step whose failure it does not throw is passed over. */
	runStep(source: UriLocation, step: () => Promise<void>): Promise<void>;
}

/** Copies a tree by the methods that every executor has: what a walk finds, without links and special files. */
export async function copyPlainTree(
	from: FileLocation,
	to: RootedLocation,
	steps: PlainTreeSteps,
	signal: AbortSignal | undefined,
): Promise<void> {
	// A walk does not enter a link, not even at its beginning.
	const root = await from.files.canonicalize(from.path);
	const {entries, errors, truncated} = await from.files.walk(root);
	if (truncated) {
		const message = 'the tree is too large to be copied file by file';
		throw new FileError('refused', message, {path: describePath(from.path)});
	}
	const relocation = new Relocation(root, to.path);
	const top = {...to, path: toPathUri(to.path)};
	await steps.createDirectory(await guardLinks(top));
	steps.reportErrors(errors);
	const tree = await rootedAt({files: from.files, path: PathUri.parse(root)});
	for (const {path, kind} of entries) {
		signal?.throwIfAborted();
		const source = {...tree, path: PathUri.parse(path)};
		const place = {files: to.files, path: relocation.of(path), root: to.root ?? top.path};
		await steps.runStep(source, async () => {
			const target = await guardLinks(place);
			await (kind === 'directory' ? steps.createDirectory(target) : steps.copyFile(source, target));
		});
	}
}
