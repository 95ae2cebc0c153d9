// Runs the tests of a change, in about a minute:
//   npm run test:changed [-- FILE...]
// The change is what differs from the last commit, unless files are named. A test belongs to a source file if it imports the file,
// names it or its folder in a `// covers:` line, or is called like the file or its folder. `npm it` runs every test.
import {spawnSync} from 'node:child_process';
import {readdirSync, readFileSync} from 'node:fs';
import {basename, dirname, join, normalize, relative} from 'node:path';
import {fileURLToPath} from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Rules about all files, each a matter of seconds. */
const ALWAYS = ['test/layers.test.ts', 'test/vocabulary.test.ts'];

const named = process.argv.slice(2).map(file => relative(root, file));
const changed =
	named.length > 0 ? named : [...git('diff', '--name-only', 'HEAD'), ...git('ls-files', '-o', '--exclude-standard')];
const tests = readdirSync(join(root, 'test'), {recursive: true})
	.filter(file => file.endsWith('.test.ts'))
	.map(file => join('test', file));
const chosen = tests.filter(test => changed.some(file => concerns(test, file)));
if (chosen.length === 0) {
	console.log(changed.length === 0 ? 'nothing has changed' : 'no test belongs to the changed files');
	process.exit(0);
}
console.log(`${chosen.length} of ${tests.length} test files belong to ${changed.length} changed files`);
if (changed.some(file => file.startsWith('src/'))) run('scripts/build.mjs');
run('node_modules/vitest/vitest.mjs', 'run', ...new Set([...ALWAYS, ...chosen]));

function concerns(test, file) {
	if (test === file) return true;
	const text = readFileSync(join(root, test), 'utf8');
	return imports(test, text, file) || covers(text, file) || isNamedLike(test, file);
}

function imports(test, text, file) {
	return [...text.matchAll(/from '(\.[^']+)\.js'/g)].some(
		([, path]) => normalize(join(dirname(test), `${path}.ts`)) === file,
	);
}

function covers(text, file) {
	const covered = /^\/\/ covers: (.+)$/m.exec(text)?.[1].split(/[\s,()]+/) ?? [];
	return covered.some(path => path.startsWith('src/') && (path === file || path === dirname(file)));
}

/** `test/cli/run-input.test.ts` belongs to everything in `src/cli/commands/run`, `test/server/options.test.ts` to `src/server/options.ts`. */
function isNamedLike(test, file) {
	const [, layer] = file.split('/');
	const names = [basename(file, '.ts'), ...(file.startsWith('src/cli/commands/') ? [basename(dirname(file))] : [])];
	return test.startsWith(`test/${layer}/`) && names.some(name => new RegExp(`^${name}[-.]`).test(basename(test)));
}

function git(...args) {
	const {status, stdout} = spawnSync('git', args, {cwd: root, encoding: 'utf8'});
	if (status === 0) return stdout.split('\n').filter(line => line !== '');
	console.error('git cannot list the changed files; name them: npm run test:changed -- FILE...');
	process.exit(2);
}

function run(script, ...args) {
	const env = {...process.env, LONGARM_TEST_BUILT: '1'};
	const {status} = spawnSync(process.execPath, [join(root, script), ...args], {cwd: root, stdio: 'inherit', env});
	if (status !== 0) process.exit(status ?? 1);
}
