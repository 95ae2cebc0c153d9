import {spawnSync} from 'node:child_process';
import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {describe, expect, onTestFinished, test} from 'vitest';
import {
	renderPropertyList,
	renderUnit,
	type ServiceDescription,
} from '../../src/cli/commands/install-service/service-files.js';
import {Command, PROGRAM, run} from '../helpers/command.js';
import {listLivingKeepers} from '../helpers/keepers.js';
import {needs, optionalProgram, unless} from '../helpers/needs.js';
import {eventually, isAlive, untilDead} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';

const onSystemd = unless(process.platform === 'linux' ? undefined : 'only Linux has systemd');

function print(...args: string[]): ReturnType<typeof run> {
	return run(['install-service', '--print', ...args]);
}

/** Complaints of systemd about a unit. */
function verify(text: string, scope: '--user' | '--system'): string {
	const directory = scratchDirectory();
	const path = join(directory, 'longarm.service');
	writeFileSync(path, text);
	const {stderr, error} = spawnSync('systemd-analyze', [scope, 'verify', path], {
		encoding: 'utf8',
		env: {...process.env, XDG_RUNTIME_DIR: directory},
	});
	if (error) throw error;
	return stderr
		.split('\n')
		.filter(line => line.includes(path) || line.includes('longarm'))
		.join('\n');
}

describe('a unit of systemd', onSystemd, () => {
	test('for the user runs this very program on a socket of the user, with the PATH of the shell', async () => {
		const {code, stdout, stderr} = await print();
		expect([code, stderr]).toEqual([0, '']);
		expect(stdout).toContain(`ExecStart=${process.execPath} ${PROGRAM} serve --listen unix:%t/longarm.sock\n`);
		expect(stdout).toContain(`PATH=${process.env['PATH']}`);
		expect(stdout).toContain('KillMode=process\nTimeoutStopSec=11\n');
		expect(stdout).toContain('WantedBy=default.target\n');
		expect(stdout).not.toContain('NoNewPrivileges');
	});

	test('for the machine runs as a user of its own, and has time to drain', async () => {
		const {stdout} = await print(
			'--system',
			'--run-as',
			'exec',
			'--drain',
			'10m',
			'--',
			'--listen',
			'ws://127.0.0.1:4500',
		);
		expect(stdout).toContain('serve --listen ws://127.0.0.1:4500 --drain 10m\n');
		expect(stdout).toContain('User=exec\n');
		expect(stdout).toContain('TimeoutStopSec=611\n');
		expect(stdout).toContain('NoNewPrivileges=yes\n');
		expect(stdout).toContain('Environment=LONGARM_HOME=/var/lib/longarm\n');
	});

	test('systemd finds no fault with either', needs('systemd-analyze'), async () => {
		expect(verify((await print()).stdout, '--user')).toBe('');
		const system = await print('--system', '--run-as', 'daemon', '--', '--listen', 'ws://127.0.0.1:4500');
		expect(verify(system.stdout, '--system')).toBe('');
		expect(verify(system.stdout.replace('KillMode=process', 'KillMode=odd'), '--system')).not.toBe('');
	});

	test.each(['--children-memory=1GiB', '--children-processes=100'])(
		'leaves nothing in its control group where no process can be kept (%s)',
		async option => {
			expect((await print('--', option)).stdout).toContain('KillMode=mixed\n');
		},
	);

	test('runs a server whose kept processes outlive its main process, and nothing else does', async () => {
		const home = scratchDirectory();
		const env = {HOME: home, XDG_STATE_HOME: home};
		onTestFinished(() => {
			for (const {pid} of listLivingKeepers(join(home, 'longarm/serve'))) process.kill(pid, 'SIGKILL');
		});
		const line = /^ExecStart=(.*)$/m.exec((await print()).stdout)![1]!.replace('%t', home);
		const [runtime, program, ...args] = line.split(' ');
		const start = async (): Promise<{readonly server: Command; readonly url: string}> => {
			const server = new Command(args, {env, runtime: runtime!, program: program!});
			return {server, url: await server.url()};
		};
		const runDetached = async (url: string, script: string, ...options: string[]): Promise<number[]> => {
			const file = join(home, `${options.length}`);
			const command = ['run', '-d', '-e', url, ...options, '--', 'sh', '-c', `${script} > ${file}; exec sleep 1000`];
			expect(await run(command, env)).toMatchObject({code: 0, stderr: ''});
			const words = await eventually(() => existsSync(file) && /^(\d+ ?)+\n$/.exec(readFileSync(file, 'utf8'))?.[0]);
			return words.trim().split(' ').map(Number);
		};
		const listKept = async (url: string): Promise<unknown> =>
			JSON.parse((await run(['ps', '--json', '-e', url], env)).stdout);

		const first = await start();
		const [kept] = await runDetached(first.url, 'echo $$', '--keep', '--name', 'kept');
		const others = await runDetached(first.url, 'setsid sleep 1000 & echo $$ $!');
		// As systemd does with KillMode=process.
		first.server.child.kill('SIGTERM');
		expect(await first.server.ended).toEqual({code: 0, signal: null});
		await untilDead(...others);
		expect(isAlive(kept!)).toBe(true);

		const second = await start();
		expect(await listKept(second.url)).toMatchObject([{name: 'kept', state: 'running', pid: kept}]);
		const more = await runDetached(second.url, 'setsid sleep 1000 & echo $$ $!');
		// As systemd does when TimeoutStopSec is over.
		second.server.child.kill('SIGKILL');
		await second.server.ended;
		await untilDead(...more);

		const third = await start();
		expect(await listKept(third.url)).toMatchObject([{name: 'kept', state: 'running', pid: kept}]);
		expect(await run(['stop', 'kept', '-e', third.url], env)).toMatchObject({code: 0});
		await untilDead(kept!);
	});

	test('is written where systemd looks, replaced if it is ours, and left alone if it is not', async () => {
		const env = {XDG_CONFIG_HOME: scratchDirectory()};
		const path = join(env.XDG_CONFIG_HOME, 'systemd/user/exec.service');
		const args = ['install-service', '--name', 'exec'];
		const first = await run(args, env);
		expect(first).toMatchObject({code: 0, stderr: ''});
		expect(first.stdout).toMatch(
			`wrote ${path}\nnext:\n  systemctl --user daemon-reload\n  systemctl --user enable --now exec\n`,
		);
		expect(first.stdout).toContain('longarm env add here "unix:$XDG_RUNTIME_DIR/exec.sock"');
		expect((await run([...args, '--drain', '1m'], env)).stdout).toContain(`replaced ${path}\n`);
		expect(readFileSync(path, 'utf8')).toContain('--drain 1m');
		writeFileSync(path, '[Unit]\n');
		const refused = await run(args, env);
		expect(refused.code).toBe(2);
		expect(refused.stderr).toContain('is there already and not of longarm');
		expect(readFileSync(path, 'utf8')).toBe('[Unit]\n');
	});

	test.each([
		[['--system'], '--system needs --run-as USER'],
		[['--run-as', 'x'], '--run-as goes with --system only'],
		[['--user', '--system', '--run-as', 'x'], '--user and --system exclude each other'],
		[['--system', '--run-as', 'a\nb'], 'is no name of a user'],
		[['--name', '../x'], 'is no name for a service'],
		[['--drain', 'soon'], '`soon` is no time'],
		[['--', '--lisen', 'ws://127.0.0.1:1'], '`--lisen` is no option of longarm serve'],
		[['--', '--listen'], '--listen needs a value'],
		[['--', '--retain-bytes=much'], '--retain-bytes: expected a size'],
		[['--', '--listen', 'ws://localhost:1'], 'invalid websocket --listen URL'],
	])('%j is misused and writes nothing', async (args, message) => {
		const env = {XDG_CONFIG_HOME: join(scratchDirectory(), 'config')};
		const {code, stderr} = await run(['install-service', ...args], env);
		expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
		expect(existsSync(env.XDG_CONFIG_HOME)).toBe(false);
	});

	test('npx is refused: what it runs may be gone tomorrow', async () => {
		const place = join(scratchDirectory(), '_npx/1/longarm.mjs');
		mkdirSync(dirname(place), {recursive: true});
		writeFileSync(place, `import ${JSON.stringify(PROGRAM)};\n`);
		const {stderr} = spawnSync(process.execPath, [place, 'install-service', '--print'], {encoding: 'utf8'});
		expect(stderr).toContain('longarm was started by npx');
	});
});

const ODD: ServiceDescription = {
	name: 'x',
	command: ['/opt/my node', 'a"b', '100%', '$HOME', 'c\\d', '<&>'],
	variables: {PATH: '/a b:/c$d:%h'},
	runAs: undefined,
	stopSeconds: 1,
	keepsProcesses: true,
};

test('words are quoted so that systemd takes them as they are', () => {
	expect(renderUnit(ODD)).toContain(String.raw`ExecStart="/opt/my node" "a\"b" 100%% $$HOME "c\\d" "<&>"`);
	expect(renderUnit(ODD)).toContain('Environment="PATH=/a b:/c$d:%%h"\n');
});

test('a property list of launchd is well-formed', needs('python3'), () => {
	const script = 'import json,plistlib,sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))';
	const {stdout, stderr} = spawnSync(optionalProgram('python3'), ['-c', script], {
		input: renderPropertyList(ODD),
		encoding: 'utf8',
	});
	expect(stderr).toBe('');
	expect(JSON.parse(stdout)).toEqual({
		Label: 'x',
		ProgramArguments: ODD.command,
		EnvironmentVariables: ODD.variables,
		RunAtLoad: true,
		KeepAlive: {SuccessfulExit: false},
		ExitTimeOut: 1,
	});
});
