import {spawnSync} from 'node:child_process';
import {existsSync, lstatSync, mkdtempSync, readdirSync, renameSync, rmSync} from 'node:fs';
import {tmpdir, userInfo} from 'node:os';
import {join} from 'node:path';

const PEER = '@openai/codex@0.166.0';
const {uid} = userInfo();
const FOLDER_PREFIX = `longarm-interop-${PEER.replace(/\W+/g, '-').replace(/^-/, '')}-user-${uid}-`;
const UNFINISHED_PREFIX = 'longarm-interop-unfinished-';

/**
 * The peer's program: the one `CODEX_BIN` names, else one that is installed in a folder of the temporary directory. Ends
 * this process with the reason if there is neither.
 */
export function stockCodex() {
	const named = process.env.CODEX_BIN;
	if (named && !existsSync(named)) giveUp(`CODEX_BIN names ${named}, which does not exist`);
	return named || (findInstalled() ?? install());
}

/** Folders of other users are passed over: their programs are not run. */
function findInstalled() {
	return readdirSync(tmpdir())
		.filter(name => name.startsWith(FOLDER_PREFIX))
		.map(name => join(tmpdir(), name))
		.filter(folder => lstatSync(folder, {throwIfNoEntry: false})?.uid === uid)
		.map(findProgram)
		.find(program => program !== undefined);
}

/**
 * Installs under another name and renames: an interrupted install is never taken for a whole one. The final name is
 * unique and no installed folder is ever replaced, so installers at the same time cannot break each other.
 */
function install() {
	console.log(`installing ${PEER}`);
	const folder = mkdtempSync(join(tmpdir(), UNFINISHED_PREFIX));
	const {status, error, stderr} = spawnSync(
		'npm',
		[
			'install',
			'--prefix',
			folder,
			'--prefer-offline',
			'--no-package-lock',
			'--no-audit',
			'--no-fund',
			'--loglevel=error',
			PEER,
		],
		{stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8'},
	);
	const isWhole = status === 0 && findProgram(folder) !== undefined;
	const installedMeanwhile = findInstalled();
	if (!isWhole || installedMeanwhile) rmSync(folder, {recursive: true, force: true});
	if (installedMeanwhile) return installedMeanwhile;
	if (!isWhole) giveUp(status === 0 ? 'it has no program for this machine' : npmFailure({status, error, stderr}));
	const finished = join(tmpdir(), FOLDER_PREFIX + folder.slice(join(tmpdir(), UNFINISHED_PREFIX).length));
	renameSync(folder, finished);
	return findProgram(finished);
}

function findProgram(folder) {
	const modules = join(folder, 'node_modules/@openai');
	return list(modules)
		.map(name => join(modules, name, 'vendor'))
		.flatMap(vendor => list(vendor).map(platform => join(vendor, platform, 'bin/codex')))
		.find(existsSync);
}

function list(folder) {
	return existsSync(folder) ? readdirSync(folder) : [];
}

/** The code only: the rest of npm's message names the registry that this machine uses. */
function npmFailure({status, error, stderr}) {
	if (error) return `npm could not be started (${error.code})`;
	const code = /^npm (?:error|ERR!) code (\w+)/m.exec(stderr)?.[1];
	return `npm install ended with status ${status}${code ? ` (${code})` : ''}`;
}

function giveUp(reason) {
	console.error(`The stock peer ${PEER} is not available: ${reason}.`);
	console.error('Installing it needs the npm registry; CODEX_BIN can name a codex program instead.');
	process.exit(1);
}
