// The first hour of a new user, typed by a script: a clone, a second machine over TLS, run, shell, sandbox, cp, forward, a
// program in an empty project, a service file. Prints every command with its answer. Needs root and `ip` for the second machine,
// `git`, `curl`, `python3`, `script`, and a registry of packages.
//   node bench/first-hour.mjs      ends with a table, exit 1 on a broken promise
import {spawn, spawnSync} from 'node:child_process';
import {chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {scratchFolder} from '../scripts/lib/scratch-folder.mjs';
import {readOptions} from './lib/options.mjs';
import {Router} from './lib/router.mjs';
import {finish, rowsOf} from './lib/tables.mjs';
import {until} from './lib/waiting.mjs';

readOptions('The first hour of a new user, typed by a script.', {});

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PORT = 4500;
/** A command that takes longer counts as one that hangs. */
const MAX_COMMAND_MS = 300_000;
const scratch = scratchFolder('first-hour');
const [here, there, bin] = ['here', 'there', 'bin'].map(name => join(scratch, name));
for (const folder of [here, there, bin]) mkdirSync(folder, {mode: 0o700});
const router = new Router();
const url = `wss://${router.server}:${PORT}`;
const row = rowsOf('first hour');
const rows = [];
let server;
process.exitCode = 1;

try {
	await walk();
} finally {
	server?.kill();
	router.destroy();
}
finish(rows);

async function walk() {
	type(
		'a clone builds',
		`git clone -q ${ROOT} longarm && cd longarm && npm install --no-audit --no-fund --loglevel=error && npm run --silent build && npm pack --silent --ignore-scripts`,
		{at: scratch, isOnline: true},
	);
	const program = join(scratch, 'longarm/dist/bin/longarm.js');
	chmodSync(program, 0o755);
	symlinkSync(program, join(bin, 'longarm'));

	const fingerprint = await serveThere();
	type('a certificate nobody knows is refused, with the way out', `longarm run -e ${url} -- true`, {
		exits: 125,
		says: ['--tls-fingerprint'],
	});
	type('a missing token is said', `longarm run -e ${url} --tls-fingerprint ${fingerprint} -- true`, {
		exits: 125,
		says: ['401', 'token'],
	});
	type(
		'a name is given once',
		`longarm env add box ${url} --tls-fingerprint ${fingerprint} --token-file ${there}/token --default`,
	);
	type('the name works', 'longarm env test box', {says: ['ok']});
	type('the default is where commands go', 'longarm run -- hostname -I', {says: [router.server]});
	type('this machine is one word away', 'longarm run -e local -- pwd', {says: [here]});
	type('a misspelt name is answered with the right one', 'longarm run -e bx -- true', {exits: 125, says: ['box']});
	type('the exit code is the command’s', "longarm run -- sh -c 'echo out; echo err >&2; exit 3'", {
		exits: 3,
		says: ['out', 'err'],
	});
	type('a pipeline goes there and back', 'seq 1000 | longarm run -- sort -n | tail -1', {says: ['1000']});
	type('a shell on a terminal', `script -qec 'longarm shell -- sh -c "tty; echo in a shell"' /dev/null`, {
		says: ['in a shell', '/dev/pts/'],
	});
	type(
		'a sandbox that may only read',
		`longarm run --sandbox read-only --cwd ${there} -- sh -c 'cat token >/dev/null || echo hidden; echo x > new || echo denied'`,
		{says: ['hidden', 'denied']},
	);
	type(
		'a sandbox that may write here',
		`longarm run --sandbox workspace-write --cwd ${there} -- sh -c 'echo x > new && echo written; echo x > /etc/new || echo denied'`,
		{says: ['written', 'denied']},
	);
	type(
		'a tree is copied',
		`mkdir tree && seq 100000 > tree/a && echo b > tree/b && longarm cp -r tree box:${there}/ && longarm ls box:${there}/tree`,
		{says: ['a', 'b']},
	);
	type('and back', `longarm cp -r box:${there}/tree again && diff -r tree again && echo same`, {says: ['same']});
	type(
		'a port comes here',
		`longarm run -- sh -c 'cd ${there}/tree && exec python3 -m http.server --bind 127.0.0.1 8123' >/dev/null 2>&1 & p=$!; longarm forward 8123 >/dev/null 2>&1 & f=$!; for i in $(seq 100); do curl -sf http://127.0.0.1:8123/b && break; sleep 0.1; done; kill $f $p`,
		{says: ['b']},
	);
	programOfOnesOwn(fingerprint);
	type('a service file', 'longarm install-service --print', {says: ['[Service]', 'ExecStart=']});
	type('what this machine can do', 'longarm doctor', {says: ['sandbox']});
}

/** Starts the server on the second machine; settles with the fingerprint it tells. */
async function serveThere() {
	writeFileSync(join(there, 'token'), `${'0123456789abcdef'.repeat(4)}\n`, {mode: 0o600});
	const args = [
		'serve',
		'--listen',
		url,
		'--tls-self-signed',
		'--ws-auth',
		'capability-token',
		'--ws-token-file',
		join(there, 'token'),
		'--allow-forward',
		'loopback',
	];
	const [file, ...rest] = [...router.onServer, join(bin, 'longarm'), ...args];
	let said = '';
	server = spawn(file, rest, {cwd: there, env: variables(there), stdio: ['ignore', 'pipe', 'pipe']});
	for (const stream of [server.stdout, server.stderr]) stream.setEncoding('utf8').on('data', text => (said += text));
	await until(() => said.includes(url) && /sha256:[0-9a-fA-F:]+/.test(said), {withinMs: MAX_COMMAND_MS});
	console.log(`\n# on the second machine\n$ longarm ${args.join(' ')}\n${said.trim()}`);
	const fingerprint = /sha256:[0-9a-fA-F:]+/.exec(said)?.[0];
	rows.push(
		row('the server tells its fingerprint', fingerprint === undefined ? 'no' : 'yes', fingerprint !== undefined),
	);
	return fingerprint;
}

/** A program in an empty project that has the packed package and nothing else. */
function programOfOnesOwn(fingerprint) {
	const project = join(here, 'project');
	mkdirSync(project);
	const tarball = readdirSync(join(scratch, 'longarm')).find(name => name.endsWith('.tgz'));
	writeFileSync(join(project, 'package.json'), '{"type": "module"}\n');
	writeFileSync(
		join(project, 'main.js'),
		`import {readFileSync} from 'node:fs';
import {Environment} from 'longarm';
const token = readFileSync('${there}/token', 'utf8').trim();
const box = Environment.remote('box', '${url}', {token, tls: {fingerprint: '${fingerprint}'}});
const {stdout} = await box.shell('cat b | tr b c', {cwd: '${there}/tree', timeout: '10s', sandbox: 'read-only'});
console.log(stdout.text.trim(), await box.files.exists('${there}/tree/a'));
await box.run(['true'], {tiemout: 5}).catch(error => console.log(error.message));
await box.close();
`,
	);
	const packed = join(scratch, 'longarm', tarball);
	type('an empty project takes the package', `npm install --no-audit --no-fund --loglevel=error ${packed}`, {
		at: project,
		isOnline: true,
	});
	type('a program of one’s own', 'node main.js', {at: project, says: ['c true', 'timeout']});
	const {dependencies} = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
	rows.push(row('packages the project names', Object.keys(dependencies).join(', ')));
}

/**
 * Runs a line of the first machine's shell; it has to end with the code and to say all of these. `isOnline` runs it outside of
 * the two machines, where the registry can be reached.
 */
function type(what, line, {at = here, exits = 0, says = [], isOnline = false} = {}) {
	const [file, ...args] = [...(isOnline ? [] : router.onClient), 'sh', '-c', line];
	const began = performance.now();
	const {status, stdout, stderr} = spawnSync(file, args, {
		cwd: at,
		env: isOnline ? process.env : variables(here),
		encoding: 'utf8',
		timeout: MAX_COMMAND_MS,
		input: '',
	});
	const seconds = ((performance.now() - began) / 1000).toFixed(1);
	const text = `${stdout}${stderr}`;
	console.log(`\n# ${what}\n$ ${line}\n${text.trim()}${status === 0 ? '' : `\n[${status}]`}`);
	const missing = says.filter(each => !text.includes(each));
	const kept = status === exits && missing.length === 0;
	rows.push(row(what, kept ? `${seconds} s` : `exit ${status}, not said: ${missing.join(', ') || 'nothing'}`, kept));
}

function variables(home) {
	return {PATH: `${bin}:${process.env.PATH}`, HOME: home, TERM: 'xterm'};
}
