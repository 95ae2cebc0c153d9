import {existsSync, readdirSync} from 'node:fs';
import {join} from 'node:path';
import {scratchPackage} from './scratch-package.mjs';

const PEER = '@openai/codex@0.166.0';

/**
 * The peer's program: the one `CODEX_BIN` names, else one that is installed in a folder of the temporary directory.
 * Throws with the reason if there is neither.
 */
export function findStockCodex() {
	const named = process.env.CODEX_BIN;
	if (named && !existsSync(named)) throw new Error(`CODEX_BIN names ${named}, which does not exist`);
	return named || programIn(scratchPackage(PEER, folder => programIn(folder) !== undefined));
}

/** The same; ends this process with the reason where there is none. */
export function stockCodex() {
	try {
		return findStockCodex();
	} catch (error) {
		console.error(`The stock peer ${PEER} is not available: ${error.message}.`);
		console.error('Installing it needs the npm registry; CODEX_BIN can name a codex program instead.');
		process.exit(1);
	}
}

function programIn(folder) {
	const modules = join(folder, 'node_modules/@openai');
	return list(modules)
		.map(name => join(modules, name, 'vendor'))
		.flatMap(vendor => list(vendor).map(platform => join(vendor, platform, 'bin/codex')))
		.find(existsSync);
}

function list(folder) {
	return existsSync(folder) ? readdirSync(folder) : [];
}
