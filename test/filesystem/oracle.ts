import fs from 'node:fs';
import {join} from 'node:path';
import * as fc from 'fast-check';
import {expect} from 'vitest';
import {type BytePath, bytePath} from '../../src/filesystem/byte-path.js';
import * as files from '../../src/filesystem/index.js';
import {LongarmError} from '../../src/shared/errors.js';
import {scratchDirectory} from '../helpers/scratch.js';

/** Few names, so that operations meet. One is not ASCII, one needs escaping in a URI. */
const name = fc.constantFrom('a', 'b', 'é', 'x y%');
const path = fc.array(name, {minLength: 1, maxLength: 3}).map(names => names.join('/'));
const content = fc.uint8Array({maxLength: 40}).map(bytes => Buffer.from(bytes));
const flag = fc.boolean();

type At = (relative: string) => string;

interface Operation {
	readonly what: string;
	readonly ours: (at: (relative: string) => BytePath) => Promise<unknown>;
	readonly theirs: (at: At) => unknown;
}

const operation: fc.Arbitrary<Operation> = fc.oneof(
	fc.record({p: path, data: content, atomic: flag, followSymlinks: flag}).map(
		({p, data, atomic, followSymlinks}): Operation => ({
			what: `write ${p} ${data.length}${atomic ? ' atomically' : ''}${followSymlinks ? '' : ' without links'}`,
			ours: at => files.writeFile(at(p), data, {atomic, followSymlinks}),
			theirs: at => {
				if (!followSymlinks) refuseLinks(at, p);
				fs.writeFileSync(at(p), data);
			},
		}),
	),
	fc.record({p: path, followSymlinks: flag}).map(
		({p, followSymlinks}): Operation => ({
			what: `read ${p}`,
			ours: async at => Buffer.from(await files.readFile(at(p), {followSymlinks})),
			theirs: at => {
				if (!followSymlinks) refuseLinks(at, p);
				return fs.readFileSync(at(p));
			},
		}),
	),
	fc.record({p: path, recursive: flag, followSymlinks: flag}).map(
		({p, recursive, followSymlinks}): Operation => ({
			what: `mkdir ${p} ${recursive} ${followSymlinks}`,
			ours: async at => {
				await files.createDirectory(at(p), {recursive, followSymlinks});
			},
			theirs: at => {
				if (!followSymlinks) refuseLinks(at, p);
				fs.mkdirSync(at(p), {recursive});
			},
		}),
	),
	fc.record({p: path, recursive: flag, force: flag}).map(
		({p, recursive, force}): Operation => ({
			what: `remove ${p} ${recursive} ${force}`,
			ours: at => files.remove(at(p), {recursive, force, followSymlinks: true}),
			theirs: at => {
				const found = force ? lookAt(at(p)) : fs.lstatSync(at(p));
				if (!recursive && found?.isDirectory()) fs.rmdirSync(at(p));
				else fs.rmSync(at(p), {recursive, force});
			},
		}),
	),
	fc.record({from: path, to: path, overwrite: flag}).map(
		({from, to, overwrite}): Operation => ({
			what: `rename ${from} ${to} ${overwrite}`,
			ours: at => files.rename(at(from), at(to), {overwrite}),
			theirs: at => {
				fs.lstatSync(at(from));
				if (!overwrite && lookAt(at(to))) throw new Error('exists');
				fs.renameSync(at(from), at(to));
			},
		}),
	),
	fc.record({from: path, to: path}).map(
		({from, to}): Operation => ({
			what: `copy ${from} ${to}`,
			ours: at => files.copy(at(from), at(to), {recursive: true}),
			theirs: at => copyLikeUs(at(from), at(to)),
		}),
	),
	fc.record({p: path, followSymlinks: flag}).map(
		({p, followSymlinks}): Operation => ({
			what: `stat ${p}`,
			ours: async at => {
				const {isDirectory, isFile, isSymlink, size} = await files.getMetadata(at(p), {followSymlinks});
				return {isDirectory, isFile, isSymlink, ...(isFile && {size})};
			},
			theirs: at => {
				if (!followSymlinks) refuseLinks(at, p);
				const stats = fs.statSync(at(p));
				const isFile = stats.isFile();
				const isSymlink = fs.lstatSync(at(p)).isSymbolicLink();
				return {isDirectory: stats.isDirectory(), isFile, isSymlink, ...(isFile && {size: stats.size})};
			},
		}),
	),
	path.map(
		(p): Operation => ({
			what: `list ${p}`,
			ours: async at => (await files.readDirectory(at(p))).map(({fileName}) => fileName).sort(),
			theirs: at =>
				fs
					.readdirSync(at(p))
					.filter(each => leadsSomewhere(at(`${p}/${each}`)))
					.sort(),
		}),
	),
	fc
		.record({
			p: path,
			to: fc.oneof(
				name,
				path.map(each => `../${each}`),
			),
		})
		.map(
			({p, to}): Operation => ({
				what: `link ${p} -> ${to}`,
				ours: async at => fs.symlinkSync(to, Buffer.from(at(p), 'latin1')),
				theirs: at => fs.symlinkSync(to, at(p)),
			}),
		),
);

/** Not for a link to nothing or to itself; Node's own option for the former throws on the latter in its newer lines. */
function leadsSomewhere(absolute: string): boolean {
	try {
		fs.statSync(absolute);
		return true;
	} catch {
		return false;
	}
}

/** Fails on a path below a file, as all of Node did once and only parts of its newer lines do. */
function lookAt(absolute: string): fs.Stats | undefined {
	try {
		return fs.lstatSync(absolute);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
		throw error;
	}
}

/** Model of no-follow operations: throws if a component of the path is a link. */
function refuseLinks(at: At, relative: string): void {
	const names = relative.split('/');
	for (let length = 1; length <= names.length; length++) {
		if (lookAt(at(names.slice(0, length).join('/')))?.isSymbolicLink()) throw new Error('a link');
	}
}

function copyLikeUs(from: string, to: string): void {
	const stats = fs.lstatSync(from);
	if (stats.isSymbolicLink()) fs.symlinkSync(fs.readlinkSync(from), to);
	else if (stats.isFile()) {
		if (fs.statSync(to, {throwIfNoEntry: false})?.isDirectory()) throw new Error('a directory');
		fs.copyFileSync(from, to);
	} else copyTree(from, to);
}

function copyTree(from: string, to: string): void {
	const existing = fs.statSync(to, {throwIfNoEntry: false});
	if (existing && !existing.isDirectory()) throw new Error('not a directory');
	const [source, place] = [fs.realpathSync(from), placeOf(to)];
	if (`${place}/`.startsWith(`${source}/`)) throw new Error('into itself');
	if (collides(source, to)) throw new Error('collision');
	mergeTree(source, to);
}

function collides(from: string, to: string): boolean {
	return fs.readdirSync(from, {withFileTypes: true}).some(child => {
		const target = join(to, child.name);
		if (!fs.lstatSync(target, {throwIfNoEntry: false})) return false;
		const kind = fs.statSync(target, {throwIfNoEntry: false});
		if (child.isSymbolicLink()) return true;
		if (child.isFile()) return kind?.isDirectory() ?? false;
		return !kind?.isDirectory() || collides(join(from, child.name), target);
	});
}

function mergeTree(from: string, to: string): void {
	fs.mkdirSync(to, {recursive: true});
	for (const child of fs.readdirSync(from, {withFileTypes: true})) {
		const [source, target] = [join(from, child.name), join(to, child.name)];
		if (child.isDirectory()) mergeTree(source, target);
		else if (child.isSymbolicLink()) fs.symlinkSync(fs.readlinkSync(source), target);
		else fs.copyFileSync(source, target);
	}
}

function placeOf(full: string): string {
	try {
		return fs.realpathSync(full);
	} catch {
		return join(placeOf(join(full, '..')), full.split('/').at(-1)!);
	}
}

/** Every path below with what is there, so that two trees can be compared. */
function snapshot(root: string, below = ''): Record<string, string> {
	const entries: Record<string, string> = {};
	for (const child of fs.readdirSync(join(root, below), {withFileTypes: true})) {
		const relative = join(below, child.name);
		const full = join(root, relative);
		if (child.isSymbolicLink()) entries[relative] = `-> ${fs.readlinkSync(full)}`;
		else if (child.isFile()) entries[relative] = fs.readFileSync(full).toString('hex');
		else Object.assign(entries, {[relative]: 'directory'}, snapshot(root, relative));
	}
	return entries;
}

async function attempt(run: () => unknown): Promise<{result?: unknown; failed: boolean; error?: unknown}> {
	try {
		return {result: await run(), failed: false};
	} catch (error) {
		return {failed: true, error};
	}
}

/** Random operations leave the same tree as node:fs does, and fail where it fails. */
export async function holdAgainstOracle(numRuns: number): Promise<void> {
	await fc.assert(
		fc.asyncProperty(fc.array(operation, {minLength: 1, maxLength: 30}), async operations => {
			const [mine, theirs] = [join(scratchDirectory(), 'mine'), join(scratchDirectory(), 'theirs')];
			for (const root of [mine, theirs]) fs.mkdirSync(root);
			const story: string[] = [];
			for (const {what, ours, theirs: expected} of operations) {
				story.push(what);
				const got = await attempt(() => ours(relative => bytePath(join(mine, relative))));
				const wanted = await attempt(() => expected(relative => join(theirs, relative)));
				expect({
					story,
					failed: got.failed,
					error: got.failed === wanted.failed ? undefined : (got.error ?? wanted.error),
				}).toEqual({story, failed: wanted.failed, error: undefined});
				if (!wanted.failed) expect({story, result: got.result}).toEqual({story, result: wanted.result});
				const isLink = what.startsWith('link');
				if (got.failed && !isLink) expect(got.error).toBeInstanceOf(LongarmError);
				expect({story, tree: snapshot(mine)}).toEqual({story, tree: snapshot(theirs)});
			}
		}),
		{numRuns},
	);
}
