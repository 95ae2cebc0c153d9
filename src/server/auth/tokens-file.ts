import {parse, TomlError} from 'smol-toml';
import {ACCESS_SCOPES} from '../../protocol/methods/method-table.js';
import {findIntegrityFault} from '../../shared/node/private-file.js';
import {parseSize} from '../../shared/units.js';
import {type CapabilityToken, parseDigest} from './capability-tokens.js';
import {type Grant, type GrantLimits, isAccessScope} from './grant.js';
import {invalidAuthError, readSecretFile} from './secret-file.js';

/** Bounds the constant-time lookup, which compares with every token. */
const MAX_TOKENS = 1000;
const MAX_NAME_LENGTH = 64;
const KEYS = ['name', 'sha256', 'scopes', 'max_processes', 'max_connections', 'max_retained'];

/** Reads the tokens of a file such as `[[tokens]] name = "ci" sha256 = "…"`; errors never quote a value. */
export function readTokensFile(path: string): CapabilityToken[] {
	const fileError = (what: string) => invalidAuthError(`websocket tokens file ${path}: ${what}`);
	try {
		return readTokens(parse(readSecretFile(path, findIntegrityFault)));
	} catch (error) {
		// Not the parser's own message: it quotes the lines around the error, which may hold secrets.
		if (error instanceof TomlError) throw fileError(`line ${error.line}, column ${error.column} cannot be read`);
		if (error instanceof TokensFileError) throw fileError(error.message);
		throw error;
	}
}

class TokensFileError extends Error {}

function readTokens({tokens, ...others}: Record<string, unknown>): CapabilityToken[] {
	const unknown = Object.keys(others)[0];
	if (unknown !== undefined) throw new TokensFileError(`unknown key \`${unknown}\`, only [[tokens]] is known`);
	if (!Array.isArray(tokens) || tokens.length === 0)
		throw new TokensFileError('there must be at least one [[tokens]] entry');
	if (tokens.length > MAX_TOKENS) throw new TokensFileError(`there must be at most ${MAX_TOKENS} [[tokens]] entries`);
	const read = tokens.map((entry, index) => readEntry(entry, `token ${index + 1}`));
	requireUnique(
		'name',
		read.map(({grant}) => grant.name),
	);
	requireUnique(
		'sha256',
		read.map(({digest}) => digest.toString('hex')),
	);
	return read;
}

function requireUnique(key: string, values: readonly string[]): void {
	const again = values.findIndex((value, index) => values.indexOf(value) < index);
	if (again >= 0) throw new TokensFileError(`token ${again + 1} has the \`${key}\` of another one`);
}

function readEntry(value: unknown, place: string): CapabilityToken {
	if (typeof value !== 'object' || value === null) throw new TokensFileError(`${place} must be a table`);
	const entry = value as Record<string, unknown>;
	const unknown = Object.keys(entry).find(key => !KEYS.includes(key));
	if (unknown !== undefined)
		throw new TokensFileError(`${place} has an unknown key, expected one of ${KEYS.join(', ')}`);
	const {name, sha256} = entry;
	if (typeof name !== 'string' || name === '' || name.length > MAX_NAME_LENGTH) {
		throw new TokensFileError(`${place} needs a \`name\` of at most ${MAX_NAME_LENGTH} characters`);
	}
	const digest = typeof sha256 === 'string' ? parseDigest(sha256) : undefined;
	if (!digest) throw new TokensFileError(`${place} needs a \`sha256\` of 64 hex digits`);
	return {digest, grant: {name, ...readScopes(entry, place), limits: readLimits(entry, place)}};
}

function readScopes({scopes}: Record<string, unknown>, place: string): Pick<Grant, 'scopes'> {
	if (scopes === undefined) return {};
	const known = Array.isArray(scopes) ? scopes.filter(each => typeof each === 'string' && isAccessScope(each)) : [];
	if (!Array.isArray(scopes) || known.length < scopes.length) {
		throw new TokensFileError(`\`scopes\` of ${place} must be a list of ${ACCESS_SCOPES.join(', ')}`);
	}
	return {scopes: known};
}

function readLimits(entry: Record<string, unknown>, place: string): GrantLimits {
	return {
		maxProcesses: readCount(entry, 'max_processes', place),
		maxConnections: readCount(entry, 'max_connections', place),
		maxRetainedBytes: readSize(entry, 'max_retained', place),
	};
}

function readCount(entry: Record<string, unknown>, key: string, place: string): number | undefined {
	const value = entry[key];
	if (value === undefined) return undefined;
	if (!Number.isSafeInteger(value) || (value as number) < 1) {
		throw new TokensFileError(`\`${key}\` of ${place} must be a positive whole number`);
	}
	return value as number;
}

function readSize(entry: Record<string, unknown>, key: string, place: string): number | undefined {
	const value = entry[key];
	if (value === undefined) return undefined;
	const bytes = typeof value === 'string' || typeof value === 'number' ? parseSize(String(value)) : undefined;
	if (bytes === undefined)
		throw new TokensFileError(`\`${key}\` of ${place} must be a size such as 1048576, 512KiB or 8MiB`);
	return bytes;
}
