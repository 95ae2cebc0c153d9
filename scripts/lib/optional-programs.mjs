// Programs that tests use where they are installed, each with the Debian package that contains it.
import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const STRING = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g;

export const OPTIONAL_PROGRAMS = JSON.parse(readFileSync(join(root, 'test/helpers/optional-programs.json'), 'utf8'));

/** Files below test/ with a string that is an optional program, or a shell command that runs one. */
export function filesThatUsePrograms() {
	// `ps` alone is a command of longarm.
	const names = Object.keys(OPTIONAL_PROGRAMS).map(name => (name === 'ps' ? 'ps(?= -)' : name));
	const use = new RegExp(String.raw`(?:^|[;|&(]\s*|\bexec )(?:${names.join('|')})(?=\s|$)`);
	return readdirSync(join(root, 'test'), {recursive: true})
		.filter(file => file.endsWith('.ts'))
		.map(file => join('test', file))
		.filter(file => stringsIn(readFileSync(join(root, file), 'utf8')).some(text => use.test(text)));
}

function stringsIn(program) {
	return [...program.matchAll(STRING)].map(([, single, double, template]) => single ?? double ?? template);
}
