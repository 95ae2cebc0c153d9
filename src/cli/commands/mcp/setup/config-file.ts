import {access, mkdir, open, unlink} from 'node:fs/promises';
import {dirname} from 'node:path';
import {
	ChangedMeanwhileError,
	readIfExists,
	replaceTextFile,
	resolveLink,
} from '../../../../shared/node/replace-file.js';
import type {McpClient, UserPlace} from './mcp-clients.js';
import {UneditableError} from './text-edit.js';

/** A larger file is no configuration that people or clients wrote. */
const MAX_CONFIG_BYTES = 32 * 1024 * 1024;
/** Configurations may hold tokens of other servers. */
const NEW_FILE_MODE = 0o600;
const MODE_BITS = 0o7777;

/** Configuration of a client, as it was read. */
export interface ConfigFile {
	/** Of the file itself, where the path is a link. */
	readonly path: string;
	/** Undefined if there is no such file. */
	readonly text: string | undefined;
	readonly mode: number;
	readonly owner: {readonly uid: number; readonly gid: number} | undefined;
}

/** The configuration of a client that exists, else where it would be. */
export async function findConfigFile(client: McpClient, place: UserPlace): Promise<string> {
	const files = client.files(place);
	for (const file of files) if (await exists(file)) return file;
	return files[0];
}

/** Whether there is a configuration, or a directory of the client. */
export async function isInstalled(client: McpClient, place: UserPlace): Promise<boolean> {
	return (await exists(await findConfigFile(client, place))) || (await exists(client.directory(place)));
}

export async function readConfigFile(given: string): Promise<ConfigFile> {
	const path = await resolveLink(given);
	let file: Awaited<ReturnType<typeof open>>;
	try {
		file = await open(path, 'r');
	} catch (cause) {
		if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
		return {path, text: undefined, mode: NEW_FILE_MODE, owner: undefined};
	}
	try {
		const stats = await file.stat();
		if (!stats.isFile()) throw new UneditableError('it is no regular file');
		if (stats.size > MAX_CONFIG_BYTES) throw new UneditableError(`it has more than ${MAX_CONFIG_BYTES} bytes`);
		const text = decodeExactly(await file.readFile());
		return {path, text, mode: stats.mode & MODE_BITS, owner: stats};
	} finally {
		await file.close();
	}
}

/** Replaces the file atomically, or removes it for an undefined text; fails if it was changed meanwhile. */
export async function writeConfigFile({path, text, mode, owner}: ConfigFile, after: string | undefined): Promise<void> {
	if (after === undefined) {
		if ((await readIfExists(path)) !== text)
			throw new ChangedMeanwhileError(`${path} was changed meanwhile; try again`);
		await unlink(path);
		return;
	}
	await mkdir(dirname(path), {recursive: true});
	await replaceTextFile(path, {before: text, after, mode, owner});
}

/** Bytes that are no text could not be written back as they were. */
function decodeExactly(bytes: Buffer): string {
	const text = bytes.toString('utf8');
	if (Buffer.from(text).equals(bytes)) return text;
	throw new UneditableError('it is not UTF-8');
}

async function exists(path: string): Promise<boolean> {
	try {
		await access(path);
		return true;
	} catch {
		return false;
	}
}
