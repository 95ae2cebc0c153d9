// Checks the package as npm would publish it: with the tools that judge packages, and installed in an empty project with the
// oldest compiler that reads its types. All of them are installed on demand.
import {spawnSync} from 'node:child_process';
import {existsSync, mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {scratchFolder} from './lib/scratch-folder.mjs';
import {scratchPackage} from './lib/scratch-package.mjs';

const ATTW = '@arethetypeswrong/cli@0.18.5';
const PUBLINT = 'publint@0.3.25';
const OLDEST_TYPESCRIPT = 'typescript@5.2.2';
const NODE_TYPES = '@types/node@20';

const root = new URL('..', import.meta.url).pathname;
const scratch = scratchFolder('package');
const {stdout: name} = run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', scratch], root);
const tarball = join(scratch, name.trim());

// An ES module on purpose: resolution that knows no `exports`, and programs that cannot `require` one, are left out.
check('types resolve', tool(ATTW, 'attw'), [tarball, '--profile', 'esm-only', '--format', 'ascii', '--no-emoji']);
check('manifest', tool(PUBLINT, 'publint'), ['run', tarball, '--strict']);
checkInEmptyProject();

function checkInEmptyProject() {
	const project = join(scratch, 'project');
	mkdirSync(project);
	writeFileSync(join(project, 'package.json'), JSON.stringify({private: true, type: 'module'}));
	const flags = ['--no-audit', '--no-fund', '--loglevel=error'];
	check('npm install', 'npm', ['install', ...flags, tarball, OLDEST_TYPESCRIPT, NODE_TYPES], project);
	writeFileSync(
		join(project, 'program.ts'),
		`import {Environment} from 'longarm';
		await using machine = Environment.local();
		console.log((await machine.run(['echo', 'hello'])).stdout.text);\n`,
	);
	const options = ['--strict', '--target', 'es2022', '--module', 'nodenext'];
	check(OLDEST_TYPESCRIPT, 'node_modules/.bin/tsc', [...options, 'program.ts'], project);
	check('a program runs', process.execPath, ['program.js'], project);
	check('the command runs', 'node_modules/.bin/longarm', ['--version'], project);
}

function tool(specifier, program) {
	const file = `node_modules/.bin/${program}`;
	return join(
		scratchPackage(specifier, folder => existsSync(join(folder, file))),
		file,
	);
}

function check(what, program, args, cwd = scratch) {
	run(program, args, cwd, what);
	console.log(`ok  ${what}`);
}

function run(program, args, cwd, what = program) {
	const result = spawnSync(program, args, {cwd, encoding: 'utf8'});
	if (result.status === 0) return result;
	// Of npm the code only: the rest of its message names the registry that this machine uses.
	const output =
		program === 'npm' ? /code (\w+)/.exec(result.stderr)?.[1] : `${result.stdout ?? ''}${result.stderr ?? ''}`;
	console.error(`${what}: ${result.error?.message ?? `exit ${result.status}`}\n${output ?? ''}`);
	process.exit(1);
}
