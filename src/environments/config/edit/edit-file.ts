import {mkdir} from 'node:fs/promises';
import {dirname} from 'node:path';
import {isDeepStrictEqual} from 'node:util';
import {parse} from 'smol-toml';
import {errorMessage} from '../../../shared/errors.js';
import {ChangedMeanwhileError, replaceTextFile, resolveLink} from '../../../shared/node/replace-file.js';
import {invalidEnvironment} from '../../remote/remote-url.js';
import {parseEnvironments} from '../environments-file.js';
import {findPlaceFault, type GuardedFile, readGuardedFile} from '../guarded-file.js';
import {type TomlEntry, withDefault, withEntry, withoutDefault, withoutEntry} from './edit-text.js';

/** It may hold tokens. */
const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

/** The file as it is before an edit; empty and without an owner if there is none. */
type Before = Pick<GuardedFile, 'text'> & Partial<GuardedFile>;

/** Content of an environments file, as far as edits change it. */
interface Content {
	readonly default: string | undefined;
	readonly environments: readonly {readonly id: string}[];
}

export interface AddOptions {
	readonly isDefault: boolean;
}

/** Adds an environment to the file, which need not exist; everything else in it stays as it is. */
export async function addEnvironment(path: string, entry: TomlEntry, {isDefault}: AddOptions): Promise<void> {
	await edit(path, (text, {environments, default: before}) => {
		if (environments.some(({id}) => id === entry.id)) {
			throw invalidEnvironment(`there is an environment \`${entry.id}\` already; remove it first`, {id: entry.id});
		}
		const added = withEntry(text, entry);
		return {
			text: isDefault ? withDefault(added, entry.id) : added,
			content: {default: isDefault ? entry.id : before, environments: [...environments, entry]},
		};
	});
}

/** Takes an environment out of the file, and out of its place as the default; everything else stays as it is. */
export async function removeEnvironment(path: string, id: string): Promise<{readonly wasDefault: boolean}> {
	let wasDefault = false;
	await edit(path, (text, {environments, default: before}) => {
		const place = environments.findIndex(each => each.id === id);
		if (place < 0) throw unknownEnvironment(path, id, environments);
		wasDefault = before?.trim() === id;
		const cut = withoutEntry(text, place);
		return {
			text: wasDefault ? withoutDefault(cut) : cut,
			content: {default: wasDefault ? undefined : before, environments: environments.toSpliced(place, 1)},
		};
	});
	return {wasDefault};
}

function unknownEnvironment(path: string, id: string, environments: Content['environments']): Error {
	const known = environments.map(each => each.id);
	const rest = known.length === 0 ? 'there are none' : `known are ${known.join(', ')}`;
	return invalidEnvironment(`no environment \`${id}\` in ${path}; ${rest}`, {id, known});
}

/** Writes nothing unless the new text parses to exactly the expected content. */
async function edit(
	file: string,
	change: (text: string, content: Content) => {text: string; content: Content},
): Promise<void> {
	await mkdir(dirname(file), {recursive: true, mode: DIRECTORY_MODE});
	const path = await resolveLink(file);
	const before = await readToEdit(file);
	parseEnvironments(before.text, path);
	const changed = change(before.text, parseContent(before.text));
	verifyContent(changed, path);
	await replace(path, before, changed.text);
}

/** Refuses a file, or a directory to make one in, that others can write to. */
async function readToEdit(path: string): Promise<Before> {
	try {
		return await readGuardedFile(path);
	} catch (cause) {
		const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
		const fault = isMissing ? await findPlaceFault(path) : errorMessage(cause);
		if (fault === undefined) return {text: ''};
		throw invalidEnvironment(`cannot edit environment config \`${path}\`: ${fault}`, {file: path}, cause);
	}
}

function verifyContent({text, content}: {text: string; content: Content}, path: string): void {
	try {
		if (isDeepStrictEqual(toPlain(parseContent(text)), toPlain(content))) {
			parseEnvironments(text, path);
			return;
		}
	} catch (cause) {
		if ((cause as {code?: unknown}).code === 'ENVIRONMENT_INVALID') throw cause;
	}
	throw invalidEnvironment(`${path} is laid out in a way that cannot be edited for you; edit it by hand`, {file: path});
}

function parseContent(text: string): Content {
	const {default: id, environments = []} = parse(text) as unknown as Partial<Content>;
	return {default: id, environments};
}

function toPlain(content: Content): unknown {
	return JSON.parse(JSON.stringify(content));
}

/** Replaces the file atomically; fails when it was changed meanwhile. */
async function replace(path: string, before: Before, after: string): Promise<void> {
	try {
		await replaceTextFile(path, {
			before: before.owner ? before.text : undefined,
			after,
			mode: FILE_MODE,
			owner: before.owner,
		});
	} catch (error) {
		throw error instanceof ChangedMeanwhileError ? invalidEnvironment(error.message) : error;
	}
}
