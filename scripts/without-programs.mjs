// Runs a command on a machine that seems to have none of the optional programs of the tests:
//   node scripts/without-programs.mjs [--user NAME] -- COMMAND [ARGUMENT...]
// As root, an overlay in a private mount namespace removes the programs from every directory of the PATH. Other users get a
// PATH of links to everything else, which does not hide programs that are called by their absolute path.
// With --user, root runs the command as another user, in a copy of this directory that belongs to that user.
import {spawnSync} from 'node:child_process';
import {
	chmodSync,
	copyFileSync,
	existsSync,
	mkdirSync,
	readdirSync,
	realpathSync,
	statSync,
	symlinkSync,
} from 'node:fs';
import {delimiter, join} from 'node:path';
import {parseArgs} from 'node:util';
import {OPTIONAL_PROGRAMS} from './lib/optional-programs.mjs';
import {scratchFolder} from './lib/scratch-folder.mjs';

/** Variable with the file that gets the counts of a step: see lib/test-report.mjs. */
const REPORT = 'LONGARM_TEST_REPORT';

const separator = process.argv.indexOf('--');
const command = process.argv.slice(separator + 1);
if (separator === -1 || command.length === 0) {
	console.error('usage: node scripts/without-programs.mjs [--user NAME] -- COMMAND [ARGUMENT...]');
	process.exit(2);
}
const {values: flags} = parseArgs({args: process.argv.slice(2, separator), options: {user: {type: 'string'}}});
const isRoot = process.geteuid() === 0;
if (flags.user && !isRoot) {
	console.error('--user needs root');
	process.exit(2);
}

const scratch = scratchFolder('bare');
const directories = [
	...new Set(
		(process.env.PATH ?? '')
			.split(delimiter)
			.filter(isDirectory)
			.map(path => realpathSync(path)),
	),
];
const hidden = directories
	.map(directory => ({directory, names: hiddenIn(directory)}))
	.filter(({names}) => names.length > 0);
const {status, signal} = isRoot ? runBehindOverlays() : runWithPrivatePath();
process.exit(status ?? (signal ? 1 : 0));

function runBehindOverlays() {
	const mounts = hidden.map(({directory, names}, index) => {
		const layer = join(scratch, `layer-${index}`);
		mkdirSync(layer);
		// A character device 0:0 in an upper layer removes the file of that name from the overlay.
		for (const name of names) run('mknod', join(layer, name), 'c', '0', '0');
		return `mount -t overlay overlay -o ${quote(`lowerdir=${layer}:${directory}`)} ${quote(directory)}`;
	});
	const user = flags.user && otherUser(flags.user);
	const script = [...mounts, 'exec "$@"'].join(' && ');
	const result = spawnSync('unshare', ['--mount', 'sh', '-c', script, 'sh', ...(user?.prefix ?? []), ...command], {
		stdio: 'inherit',
		cwd: user?.directory,
		env: {...process.env, ...user?.variables},
	});
	const report = process.env[REPORT];
	if (user && report && existsSync(user.variables[REPORT])) copyFileSync(user.variables[REPORT], report);
	return result;
}

function runWithPrivatePath() {
	const bin = join(scratch, 'bin');
	mkdirSync(bin);
	const linked = new Set(hidden.flatMap(({names}) => names));
	for (const directory of directories) {
		for (const name of readdirSync(directory)) {
			if (linked.has(name)) continue;
			linked.add(name);
			symlinkSync(join(directory, name), join(bin, name));
		}
	}
	return spawnSync(command[0], command.slice(1), {stdio: 'inherit', env: {...process.env, PATH: bin}});
}

/** Names in a directory that are optional programs, or other names of one, such as `gcc` of `cc`. */
function hiddenIn(directory) {
	const names = readdirSync(directory);
	const own = names.filter(name => name in OPTIONAL_PROGRAMS);
	const files = new Set(own.map(name => fileOf(directory, name)));
	return names.filter(name => own.includes(name) || files.has(fileOf(directory, name)));
}

function fileOf(directory, name) {
	try {
		return realpathSync(join(directory, name));
	} catch {
		return undefined;
	}
}

function isDirectory(path) {
	return statSync(path, {throwIfNoEntry: false})?.isDirectory() ?? false;
}

function otherUser(name) {
	const [uid, gid] = [run('id', '-u', name), run('id', '-g', name)];
	const [directory, home, temporary] = ['copy', 'home', 'tmp'].map(part => join(scratch, part));
	chmodSync(scratch, 0o755);
	run('cp', '-a', '.', directory);
	for (const path of [home, temporary]) mkdirSync(path);
	run('chown', '-R', `${uid}:${gid}`, directory, home, temporary);
	return {
		directory,
		prefix: ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--'],
		variables: {
			HOME: home,
			TMPDIR: temporary,
			USER: name,
			LOGNAME: name,
			...(process.env[REPORT] && {[REPORT]: join(temporary, 'report.json')}),
		},
	};
}

function run(program, ...args) {
	const {status: code, stdout, stderr, error} = spawnSync(program, args, {encoding: 'utf8'});
	if (code !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${error?.message ?? stderr.trim()}`);
	return stdout.trim();
}

function quote(text) {
	return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
