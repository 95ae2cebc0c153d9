import {accessSync, constants, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {delimiter, join} from 'node:path';

/** Kept as they are: where programs and scratch folders are, and what a run is given on purpose. */
const KEPT_VARIABLES = new Set(['PATH', 'TMPDIR', 'CODEX_BIN', 'CHROMIUM_BIN', 'NODE_ENV', 'CI']);
const KEPT_PREFIXES = ['LONGARM_TEST_', 'VITEST'];

const USUAL_UMASK = 0o022;

/**
 * Gives every test process the same variables, umask and an empty home directory, so that no test depends on the
 * profile, the settings or the language of the user who runs it. Runs in the parent, before it starts the first one:
 * Node reads variables such as NODE_OPTIONS and NODE_EXTRA_CA_CERTS only at its own start.
 */
export function setup(): () => void {
	const home = mkdtempSync(join(tmpdir(), 'longarm-home-'));
	// Without one, zsh asks a new user how to set it up.
	writeFileSync(join(home, '.zshrc'), '');
	for (const name of Object.keys(process.env)) {
		if (!isKept(name)) delete process.env[name];
	}
	const PATH = (process.env['PATH'] ?? '').split(delimiter).filter(mayEnter).join(delimiter);
	Object.assign(process.env, {PATH, HOME: home, LANG: 'C.UTF-8', TZ: 'UTC'});
	process.umask(USUAL_UMASK);
	return () => rmSync(home, {recursive: true, force: true});
}

/** A directory of the search path that may not be entered turns a missing program into one that is refused. */
function mayEnter(directory: string): boolean {
	try {
		accessSync(directory, constants.X_OK);
		return true;
	} catch (error) {
		return (error as NodeJS.ErrnoException).code !== 'EACCES';
	}
}

function isKept(name: string): boolean {
	return KEPT_VARIABLES.has(name) || KEPT_PREFIXES.some(prefix => name.startsWith(prefix));
}
