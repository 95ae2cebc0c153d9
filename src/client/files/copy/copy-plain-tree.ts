import {PathUri} from '../../../protocol/path-uri/path-uri.js';
import {describePath, type Path} from '../../paths.js';
import {FileError} from '../file-error.js';
import type {FileLocation, UriLocation} from '../file-location.js';
import type {WalkOutcome} from '../files.js';
import {Relocation} from './relocation.js';

/** Steps of a copy file by file; the walk decides their order. */
export interface PlainTreeSteps {
	createDirectory(path: Path): Promise<void>;
	/** Takes the directories that could not be read, once the root of the target is there. */
	reportErrors(errors: WalkOutcome['errors']): void;
	copyFile(source: UriLocation, target: UriLocation): Promise<void>;
	/** Runs the step of one entry; a step whose failure it does not throw is passed over. */
	runStep(source: UriLocation, step: () => Promise<void>): Promise<void>;
}

/** Copies a tree by the methods that every executor has: what a walk finds, without links and special files. */
export async function copyPlainTree(
	from: FileLocation,
	to: FileLocation,
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
	await steps.createDirectory(to.path);
	steps.reportErrors(errors);
	for (const {path, kind} of entries) {
		signal?.throwIfAborted();
		const source = {...from, path: PathUri.parse(path)};
		const target = {...to, path: relocation.of(path)};
		await steps.runStep(source, () =>
			kind === 'directory' ? steps.createDirectory(target.path) : steps.copyFile(source, target),
		);
	}
}
