import {spawnSync} from 'node:child_process';
import {existsSync, readdirSync} from 'node:fs';
import {join} from 'node:path';
import {scratchPackage} from './scratch-package.mjs';

const PACKAGE = '@openai/codex';
/** The version that is tested with unless another one is named. */
export const DEFAULT_PEER = '0.169.0';
/** The versions that `npm it` tests with, see `parsePeers`. */
export const TESTED_PEERS = `${DEFAULT_PEER},0.166.0:short`;

/**
 * Returns the program of a version of codex: the one that `CODEX_BIN` names if it is of that version, else one that is
 * installed in a folder of the temporary directory. Throws with the reason if there is neither.
 */
export function findPeer(version) {
	const named = findNamedProgram();
	if (named && readVersion(named) === version) return named;
	return programIn(scratchPackage(`${PACKAGE}@${version}`, folder => programIn(folder) !== undefined));
}

/** Returns the program that `CODEX_BIN` names, else that of the default version. Throws with the reason if there is neither. */
export function findStockCodex() {
	return findNamedProgram() ?? findPeer(DEFAULT_PEER);
}

/** Returns the program as `findStockCodex` does; ends this process with the reason if there is none. */
export function stockCodex() {
	try {
		return findStockCodex();
	} catch (error) {
		console.error(`codex is not available: ${error.message}.`);
		console.error('Installing it requires the npm registry; CODEX_BIN can name a codex program instead.');
		process.exit(1);
	}
}

/** Returns the version to test with if none is named: that of `CODEX_BIN`, else the default. */
export function defaultPeer() {
	const named = findNamedProgram();
	return named ? readVersion(named) : DEFAULT_PEER;
}

/** Returns the newest released version, from the npm registry. Throws if the registry cannot be asked. */
export function newestPeer() {
	const {status, error, stdout, stderr} = spawnSync('npm', ['view', PACKAGE, 'version', '--json'], {encoding: 'utf8'});
	if (error) throw new Error(`npm could not be started (${error.code})`);
	// The code only: the rest of npm's message names the registry that this machine uses.
	const code = /^npm (?:error|ERR!) code (\w+)/m.exec(stderr)?.[1] ?? `exit ${status}`;
	if (status !== 0) throw new Error(`npm view ${PACKAGE} failed (${code})`);
	return JSON.parse(stdout);
}

/** Returns the version that a codex program reports. */
export function readVersion(program) {
	const {stdout} = spawnSync(program, ['--version'], {encoding: 'utf8'});
	const version = /\d+\.\d+\.\d+\S*/.exec(stdout ?? '')?.[0];
	if (version === undefined) throw new Error(`${program} does not report a version`);
	return version;
}

function findNamedProgram() {
	const named = process.env.CODEX_BIN;
	if (named && !existsSync(named)) throw new Error(`CODEX_BIN names ${named}, which does not exist`);
	return named || undefined;
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
