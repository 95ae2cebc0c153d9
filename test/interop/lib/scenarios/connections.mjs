import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {brief, follow, poll, runCommand} from '../answers.mjs';
import {until} from '../child.mjs';
import {say} from '../model.mjs';
import {remoteEnvironment} from '../scenario.mjs';

const TAP = fileURLToPath(new URL('../stdio-tap.mjs', import.meta.url));
const LONG_POLL_MS = 120_000;

/** Ways to a server, and what becomes of a command when one is cut. */
export const CONNECTIONS = [
	{
		name: 'm-reconnect',
		title: 'connection is cut while a command runs; the client resumes it',
		async run(t) {
			await resumeAfter(t, () => t.cut());
			t.onWire(recorder => {
				const requests = recorder.requests('initialize');
				const kinds = requests.map(({msg}) => (msg.params.resumeSessionId ? 'resume' : 'new'));
				t.note(`initialize requests: ${kinds.join(', ')}`);
			});
		},
	},
	{
		name: 'm2-executor-cut',
		title: 'the executor loses its hub while a command runs; the client resumes it',
		needsHub: true,
		run: t => resumeAfter(t, () => t.cutExecutor()),
	},
	{
		name: 'm3-node-killed',
		title: 'the node of the executor is killed while a command prints; no line is lost or doubled',
		needsNodes: true,
		run: losesNoLine,
	},
	{
		name: 'r-stdio-environment',
		title: 'environment started by the client as a command that speaks stdio',
		isStdio: true,
		async run(t) {
			const transcript = path.join(t.temporary, 'tap.jsonl');
			const args = [TAP, transcript, '/bin/sh', '-c', t.stdioCommand];
			const home = t.folder('server', 'stdio-home');
			await t.exec(
				async function* () {
					const ended = yield* follow(runCommand('echo over-stdio; echo side=$E2E_SIDE; exit 5'));
					t.match(ended.output || ended.text, /over-stdio\nside=server/);
					t.exited(ended, 5);
					return [say('done')];
				},
				{
					environments: [
						'default = "pipe"',
						'include_local = false',
						'[[environments]]',
						'id = "pipe"',
						`program = ${JSON.stringify(process.execPath)}`,
						`args = ${JSON.stringify(args)}`,
						`env = { E2E_SIDE = "server", CODEX_HOME = ${JSON.stringify(home)} }`,
						'initialize_timeout_sec = 60',
					],
				},
			);
			t.recorder.load(transcript);
			t.equal(t.recorder.requests('process/start').length, 1, 'commands that went over stdio');
		},
	},
	{
		name: 's-environments-file',
		title: 'named ws environment in environments.toml next to the local one',
		async run(t) {
			await t.exec(
				async function* () {
					const ended = yield* follow(runCommand('echo side=$E2E_SIDE'));
					t.match(ended.output, /side=/);
					t.ok(!ended.output.includes('side=client'), 'the command ran locally');
					const tool = ended.turn.tools.find(({name}) => name === 'exec_command');
					const takesId = tool?.parameters?.properties?.environment_id !== undefined;
					t.note(`exec_command ${takesId ? 'takes' : 'does not take'} an environment_id`);
					return [say('done')];
				},
				{
					environments: [
						'default = "devbox"',
						'[[environments]]',
						'id = "devbox"',
						`url = "${t.url}"`,
						'connect_timeout_sec = 60',
						'initialize_timeout_sec = 60',
						...(t.token ? [`auth_bearer_token = ${JSON.stringify(t.token)}`] : []),
					],
				},
			);
			t.onWire(recorder =>
				t.equal(recorder.requests('process/start').length, 1, 'commands that reached the environment'),
			);
		},
	},
	{
		name: 's2-bearer-token',
		title: 'auth_bearer_token of environments.toml is sent when connecting',
		async run(t) {
			const token = t.token ?? 'token-of-the-rig';
			await t.exec(
				async function* () {
					const ended = yield* follow(runCommand('echo authorised'));
					t.match(ended.output, /authorised/);
					return [say('done')];
				},
				{environments: remoteEnvironment(t.url, token)},
			);
			t.onWire(({entries}) => {
				const opened = entries.find(({event}) => event === 'open');
				t.equal(opened?.headers.authorization, `Bearer ${token}`, 'authorization header');
			});
		},
	},
];

/** A command whose connection is cut while it runs goes on, and the client sees its end. */
async function resumeAfter(t, cut) {
	const before = t.connections;
	await t.exec(async function* () {
		const command = 'echo before; until test -e go; do sleep 0.1; done; echo after; exit 6';
		const running = yield* follow(runCommand(command, {yield_time_ms: 500}), output => output.includes('before'));
		t.ok(running.sessionId !== undefined, 'no session id');
		cut();
		const resumed = until('the client to connect again', () => t.connections > before + 1);
		void resumed.then(
			() => t.write('go', ''),
			error => t.note(error.message),
		);
		const ended = yield* follow(poll(running.sessionId, LONG_POLL_MS));
		t.match(ended.output, /after/);
		t.exited(ended, 6);
		const again = yield* follow(runCommand('echo still-here'));
		t.match(again.output, /still-here/);
		return [say('done')];
	});
	t.ok(t.connections > before + 1, 'the client did not reconnect');
}

/** A command that prints while the node of its executor is killed: the client gets every line once. */
async function losesNoLine(t) {
	const before = t.connections;
	const command = 'i=0; until test -e go; do i=$((i+1)); echo line-$i; sleep 0.05; done; echo total-$i; exit 6';
	await t.exec(async function* () {
		const start = runCommand(command, {yield_time_ms: 500});
		const running = yield* follow(start, output => output.includes('line-3'));
		t.ok(running.sessionId !== undefined, 'no session id');
		await t.killExecutorNode();
		const resumed = until('the client to connect again', () => t.connections > before + 1);
		void resumed.then(
			() => t.write('go', ''),
			error => t.note(error.message),
		);
		const ended = yield* follow(poll(running.sessionId, LONG_POLL_MS));
		t.exited(ended, 6);
		const text = running.output + ended.output;
		const total = Number(/total-(\d+)/.exec(text)?.[1]);
		const lines = [...text.matchAll(/^line-(\d+)$/gm)].map(([, number]) => Number(number));
		t.ok(total > 3, `no total in ${brief(text)}`);
		t.equal(lines.join(), Array.from({length: total}, (_, index) => index + 1).join(), 'lines');
		t.note(`${total} lines`);
		return [say('done')];
	});
}
