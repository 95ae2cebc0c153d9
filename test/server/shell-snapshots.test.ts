import {describe, expect, test} from 'vitest';
import {createChildProcessBackend} from '../../src/processes/backends/node/child-process-backend.js';
import {MAX_ARGUMENT_BYTES} from '../../src/processes/shell-snapshot/capture-snapshot.js';
import {INHERIT_ALL, LoginHome, PLAIN} from '../helpers/login-shells.js';
import {needs} from '../helpers/needs.js';
import {outcomeOf, TERMINAL} from '../helpers/process-api.js';
import {countOpenDescriptors} from '../helpers/processes.js';

const SHARED_STATE = `
	alias greet='echo "it'"'"'s an alias"'
	export QUOTED="a'b \\"c\\" \\$(touch injected) \\\\ end" LINES_="first
second"
	set -o noclobber
	set -u
	umask 027
	echo noise
	echo noise >&2`;
const SHOW_STATE = `greet; printf '%s\\n' "$QUOTED" "$LINES_"; umask; set +o; env | sort`;

const STATES = [
	{
		name: 'bash',
		profile: `shopt -s expand_aliases extglob nullglob
			first() { echo "first $1" | cat; case x in @(x|y)) echo glob;; esac; }
			second-word() { cat <<-TEXT
				it's $1
				TEXT
			}
			third() { echo "third $1"; }
			export -f third${SHARED_STATE}; set -o pipefail`,
		show: `first 1; second-word 2; bash -c 'third 3'; shopt -p extglob nullglob; ${SHOW_STATE}`,
	},
	{
		name: 'zsh',
		profile: `first() { echo "first $1" | cat }; alias -g UP='| tr a-z A-Z'; setopt extendedglob${SHARED_STATE}`,
		show: `first 1; first 2 UP; [[ aab = a(#c2)b ]] && echo extended; ${SHOW_STATE}`,
	},
	{name: 'sh', profile: SHARED_STATE, show: SHOW_STATE},
];

const withoutNoise = (text: string): string => text.replace(/^noise\n/, '');

describe.each(STATES)('a snapshot of $name', ({name, profile, show}) => {
	test('gives a command the state that the startup files give it', needs(name), async () => {
		const home = new LoginHome(name, profile);
		const session = await home.client();
		const plain = await home.run(session, 'plain', show, PLAIN);
		const expected = {...plain, stdout: withoutNoise(plain.stdout), stderr: withoutNoise(plain.stderr)};
		expect(expected.stdout).toContain("it's an alias");
		for (const id of ['first', 'second']) expect(await home.run(session, id, show)).toEqual(expected);
		expect(home.has('injected')).toBe(false);
		expect(home.runs).toBe(2);
	});

	test('stops at the first failure where the startup files ask for that', needs(name), async () => {
		const home = new LoginHome(name, 'set -e');
		const session = await home.client();
		for (const id of ['first', 'second']) {
			expect(await home.run(session, id, 'echo before; false; echo after')).toMatchObject({
				exitCode: 1,
				stdout: 'before\n',
			});
		}
		expect(home.runs).toBe(1);
	});

	test('is not taken of startup files that fail, and that is remembered', needs(name), async () => {
		const home = new LoginHome(name, '[ -e "$HOME/started" ] || { : > "$HOME/started"; exit 3; }; export LATER=1');
		const session = await home.client();
		for (const id of ['first', 'second']) {
			expect(await home.run(session, id, 'echo "later $LATER"')).toMatchObject({exitCode: 0, stdout: 'later 1\n'});
		}
		expect(home.runs).toBe(3);
	});

	test('leaves no descriptor behind', needs(name), async () => {
		const home = new LoginHome(name, 'f() { :; }');
		const session = await home.client();
		// Without a forked shell there are the descriptors of `ls` only.
		const list = 'ls /proc/self/fd; true';
		const plain = await home.run(session, 'plain', list, PLAIN);
		await home.run(session, 'first', list);
		const before = countOpenDescriptors();
		expect(await home.run(session, 'second', list)).toEqual(plain);
		expect(countOpenDescriptors()).toBe(before);
	});

	test('works on a terminal', needs(name), async () => {
		const home = new LoginHome(name, 'export FROM_PROFILE=1; echo noise');
		const session = await home.client();
		const {pty} = await home.run(session, 'p', '[ -t 0 ] && echo "from profile: $FROM_PROFILE"', TERMINAL);
		expect(pty).toBe('from profile: 1\r\n');
	});
});

test('functions of a .bashrc that the profile does not load are in the snapshot, as upstream has it', async () => {
	const home = new LoginHome();
	home.write('.bashrc', 'from_rc() { echo from rc; }');
	expect(await home.run(await home.client(), 'p', 'from_rc')).toMatchObject({stdout: 'from rc\n', stderr: ''});
});

test('variables of the request win over those of the startup files, and no later command gets them', async () => {
	const home = new LoginHome('bash', 'export BOTH=profile DERIVED="from $OWN"');
	const session = await home.client();
	const show = 'echo "$BOTH,$OWN,$DERIVED"';
	expect(await home.run(session, 'p1', show, {env: {BOTH: 'request', OWN: '1'}})).toMatchObject({
		stdout: 'request,1,from 1\n',
	});
	expect(await home.run(session, 'p2', show)).toMatchObject({stdout: 'profile,,from 1\n'});
	expect(home.runs).toBe(1);
});

test('the environment policy filters variables that the startup files export', async () => {
	const home = new LoginHome('bash', 'export MY_TOKEN=1 DENIED=1 ALLOWED=1 SET=profile NODE_REPL_AUTH_TOKEN=1');
	const envPolicy = {inherit: 'core', exclude: ['DENIED'], set: {SET: 'policy'}, includeOnly: []};
	const {stdout} = await home.run(await home.client(), 'p', 'env', {
		envPolicy: {...envPolicy, ignoreDefaultExcludes: false},
	});
	const variables = stdout.split('\n').filter(line => /TOKEN|DENIED|ALLOWED|SET/.test(line));
	expect(variables.sort()).toEqual(['ALLOWED=1', 'SET=policy']);
});

test('a policy without default excludes still keeps protected variables out', async () => {
	const home = new LoginHome('bash', 'export MY_TOKEN=1 NODE_REPL_AUTH_TOKEN=1');
	const {stdout} = await home.run(await home.client(), 'p', 'env', {envPolicy: INHERIT_ALL});
	expect(stdout.split('\n').filter(line => line.includes('TOKEN'))).toEqual(['MY_TOKEN=1']);
});

test('arguments and the name of the program stay as they are', async () => {
	const home = new LoginHome();
	const session = await home.client();
	await home.startArgv(session, 'p', ['-lc', 'echo "$0 $1"', 'zero', 'one']);
	expect(await session.done('p')).toMatchObject({stdout: 'zero one\n'});
	expect(await home.run(session, 'q', 'echo $0', {arg0: 'other'})).toMatchObject({stdout: 'other\n'});
	expect(home.runs).toBe(1);
});

test('a command that is too long with a snapshot runs without one', async () => {
	const home = new LoginHome();
	const session = await home.client();
	const command = 'echo long; : '.padEnd(MAX_ARGUMENT_BYTES - 1, 'x');
	expect(await home.run(session, 'p', command)).toMatchObject({exitCode: 0, stdout: 'long\n'});
	expect(home.runs).toBe(2);
});

test('a variable that is too long for the kernel leaves the command to the startup files', async () => {
	const home = new LoginHome('bash', `export LONG=$(printf '%0150000d' 0)`);
	expect(await home.run(await home.client(), 'p', 'echo ${#LONG}')).toMatchObject({stdout: '150000\n'});
	expect(home.runs).toBe(2);
});

test('bytes that are not UTF-8 stay as they are', async () => {
	const home = new LoginHome('bash', `bytes() { printf %s $'\\377'; }; export BYTES=$'\\376'`);
	const session = await home.client();
	for (const id of ['first', 'second']) {
		await home.run(session, id, 'bytes; printf %s "$BYTES"');
		expect([...session.output(id)]).toEqual([0xff, 0xfe]);
	}
});

test.each([
	['without -l', ['-c', 'echo $FROM_PROFILE']],
	['with options apart', ['-l', '-c', 'echo $FROM_PROFILE']],
])('a shell %s is started as it is', async (_, args) => {
	const home = new LoginHome('bash', 'export FROM_PROFILE=1');
	const session = await home.client();
	await home.startArgv(session, 'p', args);
	expect(await session.done('p')).toMatchObject({stdout: args[0] === '-l' ? '1\n' : '\n'});
	expect(home.runs).toBe(args[0] === '-l' ? 1 : 0);
});

test('a scope has to have 1 to 256 bytes, and the shell has to be a known one', async () => {
	const home = new LoginHome();
	const session = await home.client();
	const start = (more: object) => outcomeOf(home.start(session, 'p', 'true', {...more}));
	const scope = {code: -32602, message: 'shell snapshot scope must be non-empty and at most 256 bytes'};
	expect(await start(home.snapshot(''))).toEqual(scope);
	expect(await start(home.snapshot('é'.repeat(129)))).toEqual(scope);
	expect(await start(home.snapshot('s', 'fish'))).toEqual({
		code: -32602,
		message: 'shell snapshots are unsupported for shell `fish`',
	});
	expect(await start(home.snapshot('é'.repeat(128)))).toBe('accepted');
});

test('a backend that passes no descriptors runs the startup files each time', async () => {
	const home = new LoginHome('bash', 'export FROM_PROFILE=1');
	const session = await home.client({backend: createChildProcessBackend});
	for (const id of ['first', 'second']) {
		expect(await home.run(session, id, 'echo $FROM_PROFILE')).toMatchObject({stdout: '1\n'});
	}
	expect(home.runs).toBe(2);
});
