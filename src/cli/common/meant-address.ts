import {existsSync, lstatSync} from 'node:fs';
import {LongarmError} from '../../shared/errors.js';
import {usageError} from '../exit-codes.js';
import {type Address, isBarePath} from './address.js';
import {printable} from './printable.js';

/** `; did you mean ENV:path?` for a path that begins with the name of an environment; empty otherwise. */
export async function suggestAddress(path: string): Promise<string> {
	const meant = await findMeantAddress(path);
	return meant === undefined ? '' : `; did you mean \`${printable(meant)}\`?`;
}

/**
 * Throws for a path of this machine that is not there and begins with the name of an environment: with the colon
 * forgotten, a copy would go to a file of that name.
 */
export async function refuseForgottenColon(path: string, address: Address): Promise<void> {
	if (!isBarePath(path, address)) return;
	const meant = await findMeantAddress(path);
	if (meant === undefined) return;
	const [name] = path.split('/', 1) as [string];
	const text = `\`${name}\` is an environment, and no file of this directory; did you mean \`${printable(meant)}\`?`;
	throw usageError(`${text} A path of this machine is written ./${printable(path)}`);
}

/** An error that also says how a file of this machine with a colon in its name is written, if there is one. */
export function explainUnknown(error: unknown, {place, path}: Address): unknown {
	if (!(error instanceof LongarmError) || place.kind !== 'named') return error;
	const text = `${place.environment}:${path}`;
	return existsSync(text)
		? usageError(`${error.message}; the file here is written ./${printable(text)}`, error)
		: error;
}

async function findMeantAddress(path: string): Promise<string | undefined> {
	const [, name, rest = ''] = /^([\w-]+)(\/.*)?$/s.exec(path) ?? [];
	if (name === undefined || isHere(name)) return undefined;
	try {
		const {defaultProvider} = await import('../../environments/config/default-provider.js');
		const snapshot = await defaultProvider().snapshot();
		return snapshot?.remotes.has(name) ? `${name}:${rest}` : undefined;
	} catch {
		// Only a suggestion is missing then.
		return undefined;
	}
}

function isHere(name: string): boolean {
	return lstatSync(name, {throwIfNoEntry: false}) !== undefined;
}
