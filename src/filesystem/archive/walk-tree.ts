import type {Stats} from 'node:fs';
import {Yielder} from '../../shared/node/yielder.js';
import {openChainBelow} from '../below-root.js';
import {type BytePath, baseName, joinPath} from '../byte-path.js';
import {listDirectory} from '../directories.js';
import {isErrno, refusedError} from '../file-errors.js';
import type {FileCalls} from '../syscalls.js';
import type {DirectoryChain} from './directory-chain.js';

/** `name` is relative to the root, as a binary string; empty for the root itself. */
export type Visit =
	/** `path` is valid until the next visit is requested. */
	| {readonly kind: 'found'; readonly name: string; readonly path: BytePath; readonly stats: Stats}
	| {readonly kind: 'failed'; readonly name: string; readonly error: unknown};

export interface WalkTreeOptions {
	/** Levels below the directory; all by default. */
	readonly depth?: number | undefined;
	/** The directory is reached without links below it. */
	readonly root?: BytePath | undefined;
	/** Components of an entry: it and everything before it in the walk are left out. */
	readonly after?: readonly string[] | undefined;
}

interface Frame {
	readonly prefix: string;
	readonly names: readonly string[];
	next: number;
	/** Rest of `after` in this directory: the walk goes on below or behind its first component. */
	readonly after: readonly string[];
}

/** Visits the file at a path, links followed, and of a directory everything below it, parents first and by name. */
export async function* visitPath(calls: FileCalls, path: BytePath): AsyncGenerator<Visit, void, void> {
	const stats = await calls.stat(path);
	if (stats.isDirectory()) {
		yield* walkTree(calls, path);
	} else if (stats.isFile()) {
		// The target of the links, under the name of the request.
		yield {kind: 'found', name: baseName(path), path: await calls.realpath(path), stats};
	} else {
		throw refusedError('path is neither a directory nor a regular file');
	}
}

/** Visits a directory and everything below it, parents first and by name. */
export async function* walkTree(
	calls: FileCalls,
	directory: BytePath,
	{depth = Number.POSITIVE_INFINITY, root, after}: WalkTreeOptions = {},
): AsyncGenerator<Visit, void, void> {
	const chain = await openChainBelow(calls, directory, root);
	try {
		if (!after) yield {kind: 'found', name: '', path: chain.path, stats: await calls.stat(chain.path)};
		if (depth > 0) yield* walkBelow(calls, chain, depth, after ?? []);
	} finally {
		await chain.close();
	}
}

/** Visits exactly these entries below a directory, without their content; a missing one is a failed visit. */
export async function* visitNames(
	calls: FileCalls,
	directory: BytePath,
	paths: readonly (readonly string[])[],
	root?: BytePath,
): AsyncGenerator<Visit, void, void> {
	const yielder = new Yielder();
	const chain = await openChainBelow(calls, directory, root);
	try {
		for (const names of paths) {
			yield await visitName(calls, chain, names);
			const pause = yielder.yieldIfDue();
			if (pause) await pause;
		}
	} finally {
		await chain.close();
	}
}

async function visitName(calls: FileCalls, chain: DirectoryChain, names: readonly string[]): Promise<Visit> {
	const name = names.join('/');
	try {
		await chain.goTo(names.slice(0, -1));
		const path = joinPath(chain.path, names.at(-1) ?? '.');
		return {kind: 'found', name, path, stats: await calls.lstat(path)};
	} catch (error) {
		return {kind: 'failed', name, error};
	}
}

async function* walkBelow(
	calls: FileCalls,
	chain: DirectoryChain,
	depth: number,
	after: readonly string[],
): AsyncGenerator<Visit, void, void> {
	const yielder = new Yielder();
	const frames: Frame[] = [await listFrame(calls, chain, '', after)];
	for (let frame = frames.at(-1); frame; frame = frames.at(-1)) {
		if (frame.next === frame.names.length) {
			frames.pop();
			if (frames.length > 0) await chain.leave();
			continue;
		}
		const own = frame.names[frame.next++]!;
		const name = frame.prefix + own;
		const [isVisited, below] = own === frame.after[0] ? [true, frame.after.slice(1)] : [false, []];
		const seen = await visitIfExists(calls, joinPath(chain.path, own), name);
		if (seen && !isVisited) yield seen;
		if (seen?.kind === 'found' && seen.stats.isDirectory() && frames.length < depth) {
			try {
				frames.push(await descend(calls, chain, own, name, below));
			} catch (error) {
				yield {kind: 'failed', name, error};
			}
		}
		const pause = yielder.yieldIfDue();
		if (pause) await pause;
	}
}

/** Undefined for an entry that was removed since its directory was listed. */
async function visitIfExists(calls: FileCalls, path: BytePath, name: string): Promise<Visit | undefined> {
	try {
		return {kind: 'found', name, path, stats: await calls.lstat(path)};
	} catch (error) {
		return isErrno(error, 'ENOENT') ? undefined : {kind: 'failed', name, error};
	}
}

async function descend(
	calls: FileCalls,
	chain: DirectoryChain,
	own: string,
	name: string,
	after: readonly string[],
): Promise<Frame> {
	await chain.enter(own);
	try {
		return await listFrame(calls, chain, `${name}/`, after);
	} catch (error) {
		await chain.leave();
		throw error;
	}
}

async function listFrame(
	calls: FileCalls,
	chain: DirectoryChain,
	prefix: string,
	after: readonly string[],
): Promise<Frame> {
	const listing = await listDirectory(calls, chain.path, Number.POSITIVE_INFINITY);
	const [first] = after;
	const names = listing.map(({name}) => name).filter(name => first === undefined || name >= first);
	return {prefix, names: names.sort(), next: 0, after};
}
