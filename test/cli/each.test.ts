import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {EachProgress} from '../../src/cli/commands/each/each-progress.js';
import {Command, type Finished, run} from '../helpers/command.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {serving} from '../helpers/serving.js';

interface Fleet {
	readonly home: string;
	readonly each: (...args: string[]) => Promise<Finished>;
}

/** Environments by name, each with its labels and its address. */
function fleet(machines: Record<string, {url: string; labels?: string}>): Fleet {
	const home = join(scratchDirectory(), 'home');
	mkdirSync(home);
	const entries = Object.entries(machines).map(
		([id, {url, labels = ''}]) =>
			`[[environments]]\nid = "${id}"\nurl = "${url}"\nconnect_timeout_sec = 30\nlabels = {${labels}}\n`,
	);
	writeFileSync(join(home, 'environments.toml'), entries.join('\n'), {mode: 0o600});
	return {home, each: (...args) => run(['each', ...args], {LONGARM_HOME: home})};
}

/** A server whose processes see a variable of their own. */
async function machine(name: string): Promise<string> {
	return (await serving({variables: {...process.env, MACHINE: name}})).url;
}

test('equal outputs are shown once with the names, failures first, and the exit code tells', async () => {
	const {each} = fleet({
		web1: {url: await machine('web1'), labels: 'role = "web"'},
		web2: {url: await machine('web2'), labels: 'role = "web"'},
		db: {url: await machine('db'), labels: 'role = "db"'},
	});
	const same = await each('-e', '@role=web,db', '--', 'echo', 'hello');
	expect(same).toEqual({code: 0, signal: null, stdout: '[3 of 3 exit 0, equal: web1 web2 db]\nhello\n', stderr: ''});
	const script = 'if [ $MACHINE = db ]; then printf partial; echo oops >&2; exit 3; fi; echo fine';
	expect(await each('-e', '@role=web', '-e', 'db', 'sh', '-c', script)).toEqual({
		code: 1,
		signal: null,
		stdout: '[1 of 3 exit 3: db]\npartial\n[standard error]\noops\n[2 of 3 exit 0, equal: web1 web2]\nfine\n',
		stderr: '',
	});
});

test('a machine that is not there is lost and a missing program not started: neither is an exit', async () => {
	const {each} = fleet({here: {url: await machine('here')}, gone: {url: 'ws://127.0.0.1:1'}});
	const {code, stdout} = await each('-e', 'here,gone', '--', 'echo', 'hello');
	expect(code).toBe(125);
	expect(stdout).toMatch(/^\[1 of 2 lost: gone\]\n.*ECONNREFUSED.*\n\[1 of 2 exit 0: here\]\nhello\n$/);
	const missing = await each('-e', 'here', '--', '/nowhere/program');
	expect([missing.code, missing.stdout]).toEqual([125, expect.stringContaining('[1 of 1 not started: here]\n')]);
});

test('what cannot be meant is refused before anything is run', async () => {
	const {each} = fleet({web1: {url: 'ws://127.0.0.1:1', labels: 'role = "web"'}});
	for (const [args, says] of [
		[['--', 'true'], 'say on which machines with -e'],
		[['-e', 'web2', '--', 'true'], 'unknown environment `web2`; did you mean `web1`? known are local, web1'],
		[['-e', '@role=db', '--', 'true'], 'no environment has the label role=db; known are role=web'],
		[['-e', 'web1,', '--', 'true'], '`web1,` has an empty part'],
		[['-e', 'web1', '--parallel', '0', '--', 'true'], '--parallel 0: expected a whole number from 1 to 256'],
		[['-e', 'web1', '--canary', 'x', '--', 'true'], '--canary x: expected a whole number'],
		[['-e', 'web1', '--stop-after', '0', '--', 'true'], '--stop-after 0: expected a whole number above 0'],
		[['-e', 'web1', '--stream', '--json', '--', 'true'], '--stream and --json exclude each other'],
		[['-e', 'web1', '--timeout', 'soon', '--', 'true'], '--timeout soon: expected a time'],
		[['-e', 'web1'], "missing required argument 'COMMAND'"],
	] as const) {
		const {code, stdout, stderr} = await each(...args);
		expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(says)]);
	}
});

test('addresses stand beside names, and a command with commas has an option of its own', async () => {
	const url = await machine('by-address');
	const {each} = fleet({});
	const {stdout} = await each('-e', `${url},local`, '--cwd', '/', '--env', 'A=b', '--', 'sh', '-c', 'echo $A $PWD');
	expect(stdout).toBe(`[2 of 2 exit 0, equal: ${url} local]\nb /\n`);
	const command = `cmd:exec '${process.execPath}' dist/bin/longarm.js serve --listen stdio # a,b`;
	expect((await each('-e', command, '--', 'echo', 'there')).stdout).toMatch(/^\[1 of 1 exit 0: .*\]\nthere\n$/);
});

test('after a failed canary, and after enough failures, the rest is skipped', async () => {
	const url = await machine('any');
	const {each} = fleet({a: {url}, b: {url}, c: {url}});
	const canary = await each('-e', 'a,b,c', '--canary', '1', '--', 'false');
	expect([canary.code, canary.stdout]).toEqual([
		1,
		'[1 of 3 exit 1: a]\n[2 of 3 skipped: b c]\nthe command failed on a machine of --canary\n',
	]);
	const stopped = await each('-e', 'a,b,c', '--parallel', '1', '--stop-after', '2', '--', 'false');
	expect(stopped.stdout).toBe(
		'[2 of 3 exit 1, equal: a b]\n[1 of 3 skipped: c]\nit failed on as many machines as --stop-after allows\n',
	);
});

test('JSON has every group with its names, outcome and output', async () => {
	const {each} = fleet({a: {url: await machine('a')}, b: {url: await machine('b')}, gone: {url: 'ws://127.0.0.1:1'}});
	const script = 'if [ $MACHINE = a ]; then echo a; else printf "\\377"; exit 4; fi';
	const {code, stdout} = await each('-e', 'a,b,gone', '--json', '--', 'sh', '-c', script);
	expect(code).toBe(125);
	expect(JSON.parse(stdout)).toEqual({
		machines: 3,
		succeeded: 1,
		failed: 1,
		lost: 1,
		skipped: 0,
		groups: [
			{
				names: ['b'],
				outcome: 'exited',
				exitCode: 4,
				by: 'exit',
				truncated: false,
				stdout: '/w==',
				stdoutEncoding: 'base64',
				stdoutBytes: 1,
				stderr: '',
				stderrBytes: 0,
			},
			{
				names: ['gone'],
				outcome: 'lost',
				messages: {gone: expect.stringContaining('ECONNREFUSED') as string},
				stdout: '',
				stdoutBytes: 0,
				stderr: '',
				stderrBytes: 0,
				truncated: false,
			},
			{
				names: ['a'],
				outcome: 'exited',
				exitCode: 0,
				by: 'exit',
				truncated: false,
				stdout: 'a\n',
				stdoutBytes: 2,
				stderr: '',
				stderrBytes: 0,
			},
		],
	});
});

test('with --stream lines come as they are written, with the name of their machine', async () => {
	const {home} = fleet({a: {url: await machine('a')}, bcd: {url: await machine('bcd')}});
	const script = 'echo on $MACHINE; echo error >&2; read line < "$GATE"; printf "no end"';
	const gates = ['a', 'bcd'].map(name => join(home, name));
	const {execFileSync} = await import('node:child_process');
	execFileSync('mkfifo', gates);
	const command = new Command(
		['each', '-e', 'a,bcd', '--stream', '--', 'sh', '-c', `GATE=${home}/$MACHINE; ${script}`],
		{env: {LONGARM_HOME: home}},
	);
	await command.until(() => command.stdout.includes('a   | on a\n'), 'the line of a');
	await command.until(() => command.stdout.includes('bcd | on bcd\n'), 'the line of bcd');
	for (const gate of gates) writeFileSync(gate, 'go\n');
	expect(await command.ended).toEqual({code: 0, signal: null});
	expect(command.stdout.split('\n').sort()).toEqual(['', 'a   | no end', 'a   | on a', 'bcd | no end', 'bcd | on bcd']);
	expect(command.stderr.split('\n').sort()).toEqual([
		'',
		expect.stringMatching(/^\[1 of 2 exit 0: (a|bcd)\]$/),
		expect.stringMatching(/^\[1 of 2 exit 0: (a|bcd)\]$/),
		'a   | error',
		'bcd | error',
	]);
});

test('Ctrl-C ends what runs, and shows the outcomes so far', async () => {
	const url = await machine('any');
	const {home} = fleet({a: {url}, b: {url}});
	const command = new Command(
		['each', '-e', 'a,b', '--parallel', '1', '--stream', '--', 'sh', '-c', 'echo on; exec sleep 600'],
		{env: {LONGARM_HOME: home}},
	);
	await command.until(() => command.stdout.includes('on\n'), 'the command');
	command.child.kill('SIGINT');
	expect(await command.ended).toEqual({code: 130, signal: null});
	expect(command.stderr).toMatch(/\[1 of 2 stopped, exit \d+: a\]\n\[1 of 2 skipped: b\]\n/);
});

test('a reader that leaves ends the command', async () => {
	const url = await machine('any');
	const {home} = fleet({a: {url}, b: {url}});
	const command = new Command(['each', '-e', 'a,b', '--stream', '--', 'sh', '-c', 'while :; do echo on; done'], {
		env: {LONGARM_HOME: home},
		ownStdout: true,
	});
	command.child.stdout.once('data', () => command.child.stdout.destroy());
	expect(await command.ended).toEqual({code: 141, signal: null});
});

test('50 machines answer once per distinct output, and one that is gone is lost', async () => {
	const names = Array.from({length: 50}, (_name, at) => `m${at}`);
	const machines = await Promise.all(
		names.map(async name => [name, {url: await machine(name), labels: 'fleet = "all"'}] as const),
	);
	const {each} = fleet({...Object.fromEntries(machines), m7: {url: 'ws://127.0.0.1:1', labels: 'fleet = "all"'}});
	const script = 'if [ $MACHINE = m3 ]; then echo other; elif [ $MACHINE = m4 ]; then exit 9; else echo same; fi';
	const {code, stdout} = await each('-e', '@fleet=all', '--json', '--', 'sh', '-c', script);
	const {groups} = JSON.parse(stdout) as {groups: {names: string[]; outcome: string; exitCode?: number}[]};
	expect(code).toBe(125);
	expect(groups.map(({names: some, outcome, exitCode}) => [some.length, outcome, exitCode])).toEqual([
		[1, 'exited', 9],
		[1, 'lost', undefined],
		[47, 'exited', 0],
		[1, 'exited', 0],
	]);
	expect(groups.map(({names: some}) => some[0])).toEqual(['m4', 'm7', 'm0', 'm3']);
});

test('on a terminal one line tells how far it is', () => {
	let screen = '';
	const ticks: (() => void)[] = [];
	const draw = (): void => ticks[0]!();
	const clock = {
		now: () => 0,
		every: (_ms: number, tick: () => void) => {
			ticks.push(tick);
			return () => {};
		},
	};
	const progress = new EachProgress(3, {columns: 40, write: text => (screen = text)}, clock);
	progress.start('a');
	progress.start('b');
	draw();
	expect(screen).toBe('\r\u001B[K0 of 3 done, waiting for a b');
	progress.finish({id: 'a', outcome: {kind: 'lost', message: ''}});
	progress.start('c-with-a-long-name');
	draw();
	expect(screen).toBe('\r\u001B[K1 of 3 done, 1 failed, waiting for b c-');
	progress.end();
	expect(screen).toBe('\r\u001B[K');
});
