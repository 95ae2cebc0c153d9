import type {Stats} from 'node:fs';
import {Yielder} from '../../shared/node/yielder.js';
import {type BytePath, childOf, nameOf} from '../byte-path.js';
import {listDirectory} from '../directories.js';
import {isErrno, refused} from '../file-errors.js';
import type {FileCalls} from '../syscalls.js';
import {DirectoryChain} from './directory-chain.js';

/** `name` is the way from the root, as bytes; the root itself has none. */
export type Visit =
	/** `place` is a path for as long as the walk stands here. */
	| {readonly kind: 'found'; readonly name: string; readonly place: BytePath; readonly stats: Stats}
	| {readonly kind: 'failed'; readonly name: string; readonly error: unknown};

interface Frame {
	readonly prefix: string;
	readonly names: readonly string[];
	next: number;
}

/** What a path leads to, and if that is a directory everything below it, parents first and by name. */
export async function* visit(calls: FileCalls, path: BytePath): AsyncGenerator<Visit, void, void> {
	const stats = await calls.stat(path);
	if (stats.isDirectory()) {
		yield* walkTree(calls, path);
	} else if (stats.isFile()) {
		// The file the links lead to, under the name it was asked for.
		yield {kind: 'found', name: nameOf(path), place: await calls.realpath(path), stats};
	} else {
		throw refused('path is neither a directory nor a regular file');
	}
}

/** A directory and what is below it, so many levels deep. */
export async function* walkTree(
	calls: FileCalls,
	root: BytePath,
	depth = Number.POSITIVE_INFINITY,
): AsyncGenerator<Visit, void, void> {
	const chain = await DirectoryChain.open(calls, root);
	try {
		yield {kind: 'found', name: '', place: chain.place, stats: await calls.stat(chain.place)};
		if (depth > 0) yield* walkBelow(calls, chain, depth);
	} finally {
		await chain.close();
	}
}

/** Exactly these entries below a directory, without what is below them; what is not there is a failure. */
export async function* visitNames(
	calls: FileCalls,
	root: BytePath,
	names: readonly (readonly string[])[],
): AsyncGenerator<Visit, void, void> {
	const yielder = new Yielder();
	const chain = await DirectoryChain.open(calls, root);
	try {
		for (const way of names) {
			yield await lookAt(calls, chain, way);
			const pause = yielder.yieldIfDue();
			if (pause) await pause;
		}
	} finally {
		await chain.close();
	}
}

async function lookAt(calls: FileCalls, chain: DirectoryChain, way: readonly string[]): Promise<Visit> {
	const name = way.join('/');
	try {
		await chain.goTo(way.slice(0, -1));
		const place = childOf(chain.place, way.at(-1) ?? '.');
		return {kind: 'found', name, place, stats: await calls.lstat(place)};
	} catch (error) {
		return {kind: 'failed', name, error};
	}
}

async function* walkBelow(calls: FileCalls, chain: DirectoryChain, depth: number): AsyncGenerator<Visit, void, void> {
	const yielder = new Yielder();
	const frames: Frame[] = [{prefix: '', names: await namesIn(calls, chain.place), next: 0}];
	for (let frame = frames.at(-1); frame; frame = frames.at(-1)) {
		if (frame.next === frame.names.length) {
			frames.pop();
			if (frames.length > 0) await chain.leave();
			continue;
		}
		const own = frame.names[frame.next++]!;
		const name = frame.prefix + own;
		const seen = await look(calls, childOf(chain.place, own), name);
		if (seen) yield seen;
		if (seen?.kind === 'found' && seen.stats.isDirectory() && frames.length < depth) {
			try {
				frames.push(await descend(calls, chain, own, name));
			} catch (error) {
				yield {kind: 'failed', name, error};
			}
		}
		const pause = yielder.yieldIfDue();
		if (pause) await pause;
	}
}

/** Undefined for what has gone since its directory was listed. */
async function look(calls: FileCalls, place: BytePath, name: string): Promise<Visit | undefined> {
	try {
		return {kind: 'found', name, place, stats: await calls.lstat(place)};
	} catch (error) {
		return isErrno(error, 'ENOENT') ? undefined : {kind: 'failed', name, error};
	}
}

async function descend(calls: FileCalls, chain: DirectoryChain, own: string, name: string): Promise<Frame> {
	await chain.enter(own);
	try {
		return {prefix: `${name}/`, names: await namesIn(calls, chain.place), next: 0};
	} catch (error) {
		await chain.leave();
		throw error;
	}
}

async function namesIn(calls: FileCalls, directory: BytePath): Promise<string[]> {
	const listing = await listDirectory(calls, directory, Number.POSITIVE_INFINITY);
	return listing.map(({name}) => name).sort();
}
