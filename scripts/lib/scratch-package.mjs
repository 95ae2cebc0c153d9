// Packages of npm that the scripts run but the project does not depend on, in a folder of the user's own below the
// temporary directory.
import {spawnSync} from 'node:child_process';
import {existsSync, lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync} from 'node:fs';
import {tmpdir, userInfo} from 'node:os';
import {join} from 'node:path';

const OWNER_ONLY = 0o700;

/**
 * The folder a package is installed in, now if it is not yet. It is installed beside its place and then moved there, so
 * that what is in place is whole; `isUsable` tells of a folder whether that still holds.
 */
export function scratchPackage(specifier, isUsable) {
	const place = join(ownFolder(), specifier.replace(/[^\w.]+/g, '-'));
	if (existsSync(place) && isUsable(place)) return place;
	const fresh = mkdtempSync(`${place}.new-`);
	try {
		console.error(`installing ${specifier}`);
		install(specifier, fresh);
		if (!isUsable(fresh)) throw new Error(`${specifier} is installed but cannot be used`);
		return moveTo(place, fresh, isUsable);
	} finally {
		rmSync(fresh, {recursive: true, force: true});
	}
}

/** Refuses a folder that somebody else has made there: programs of it are run. */
function ownFolder() {
	const {uid} = userInfo();
	const folder = join(tmpdir(), `longarm-packages-${uid}`);
	mkdirSync(folder, {recursive: true, mode: OWNER_ONLY});
	const found = lstatSync(folder);
	if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o022) !== 0) {
		throw new Error(`${folder} is not a folder that only you can write to: remove it`);
	}
	return folder;
}

function install(specifier, folder) {
	// Scripts are allowed: some packages get their program with one.
	const flags = [
		'--no-audit',
		'--no-fund',
		'--loglevel=error',
		'--ignore-scripts=false',
		'--no-save',
		'--prefer-offline',
	];
	const {status, error, stderr} = spawnSync('npm', ['install', '--prefix', folder, ...flags, specifier], {
		stdio: ['ignore', 'ignore', 'pipe'],
		encoding: 'utf8',
	});
	if (error) throw new Error(`${specifier} could not be installed: npm could not be started (${error.code})`);
	// The code only: the rest of npm's message names the registry that this machine uses.
	const code = /^npm (?:error|ERR!) code (\w+)/m.exec(stderr)?.[1] ?? `exit ${status}`;
	const reason = code === 'ETARGET' ? 'the npm registry has no such version' : `npm failed (${code})`;
	if (status !== 0) throw new Error(`${specifier} could not be installed: ${reason}`);
}

function moveTo(place, fresh, isUsable) {
	try {
		renameSync(fresh, place);
		return place;
	} catch (error) {
		if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
	}
	// Another run was faster, or what is in place is broken.
	if (isUsable(place)) return place;
	rmSync(place, {recursive: true, force: true});
	renameSync(fresh, place);
	return place;
}
