import {homedir} from 'node:os';
import {dirname, join} from 'node:path';
import {bytePath} from '../../filesystem/byte-path.js';
import {readWholeFile} from '../../filesystem/read-file.js';
import {PathUri} from '../../protocol/path-uri/path-uri.js';
import {LongarmError} from '../../shared/errors.js';

type Variables = Readonly<Record<string, string | undefined>>;
type Table = {readonly [key: string]: unknown};

/** One configuration file, reduced to the requested keys. */
export interface ConfigLayer {
	readonly source: string;
	readonly baseDir: string;
	readonly toml: string;
}

/** Upstream's configuration directory on this machine. */
export function codexHome(variables: Variables): string {
	return variables['CODEX_HOME'] || join(homedir(), '.codex');
}

/**
 * Reads the user's own layer, reduced to the requested keys. Layers of projects are left out: the client decides which
 * projects to trust, and it reads the configuration before it can.
 */
export async function readConfig(home: string, paths: readonly (readonly string[])[]): Promise<ConfigLayer[]> {
	const file = join(home, 'config.toml');
	const text = await readIfExists(file);
	if (text === undefined || paths.length === 0) return [];
	const {parse, stringify} = await import('smol-toml');
	let table: Table;
	try {
		table = parse(text);
	} catch {
		// Not the parser's own message: it quotes the file, which may hold secrets.
		throw new LongarmError('CONFIG_UNREADABLE', {
			message: `failed to load executor-local config: ${file} is not TOML`,
			context: {file},
		});
	}
	const picked = paths.reduce<Table>((sum, path) => mergeTables(sum, pick(table, path)), {});
	if (Object.keys(picked).length === 0) return [];
	const baseDir = PathUri.fromNative(dirname(file)).href;
	return [{source: `user (${file})`, baseDir, toml: `${stringify(picked).trimEnd()}\n`}];
}

async function readIfExists(file: string): Promise<string | undefined> {
	try {
		return new TextDecoder().decode(await readWholeFile(bytePath(file), {followSymlinks: true}));
	} catch (error) {
		const {code, message} = error as NodeJS.ErrnoException;
		if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
		throw new LongarmError('CONFIG_UNREADABLE', {
			message: `failed to load executor-local config: ${message}`,
			context: {file},
			cause: error,
		});
	}
}

/** The value at a path, inside the tables that lead to it; an empty table if there is none. */
function pick(table: Table, [key = '', ...rest]: readonly string[]): Table {
	if (!Object.hasOwn(table, key)) return {};
	const value = table[key];
	if (rest.length === 0) return {[key]: value};
	if (!isTable(value)) return {};
	const below = pick(value, rest);
	return Object.keys(below).length === 0 ? {} : {[key]: below};
}

function mergeTables(one: Table, other: Table): Table {
	const sum: Record<string, unknown> = {...one};
	for (const [key, value] of Object.entries(other)) {
		const present = sum[key];
		sum[key] = isTable(present) && isTable(value) ? mergeTables(present, value) : value;
	}
	return sum;
}

function isTable(value: unknown): value is Table {
	return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
