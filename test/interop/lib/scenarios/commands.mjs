import path from 'node:path';
import {brief, follow, followOn, runCommand} from '../answers.mjs';
import {say} from '../model.mjs';

/** Commands that are run to their end. */
export const COMMANDS = [
	{
		name: 'a-simple-command',
		title: 'command runs on the server, output and exit code come back',
		async run(t) {
			t.write('AGENTS.md', 'marker-from-remote-agents-md\n');
			await t.exec(async function* () {
				const command = 'echo hello-$((40+2)); echo oops >&2; pwd; echo side=$E2E_SIDE';
				const ended = yield* follow(runCommand(command));
				t.exited(ended, 0);
				t.match(ended.output, /hello-42/);
				t.match(ended.output, /oops/);
				t.ok(ended.output.includes(t.work), `the command ran elsewhere: ${ended.output}`);
				t.ok(!ended.output.includes('side=client'), 'the client environment leaked into the command');
				const prompt = JSON.stringify(ended.turn.items);
				t.match(prompt, /marker-from-remote-agents-md/, 'prompt (AGENTS.md read through fs/*)');
				return [say('done')];
			});
		},
	},
	{
		name: 'c-exit-code',
		title: 'failing commands report their exit code',
		async run(t) {
			await t.exec(async function* () {
				t.exited(yield* follow(runCommand('exit 7')), 7);
				t.exited(yield* follow(runCommand('no-such-program-here')), 127);
				const killed = yield* follow(runCommand('kill -9 $$'));
				t.note(`SIGKILLed command: ${brief(killed.text)}`);
				t.ok(killed.exitCode, `killed command reported ${killed.text}`);
				return [say('done')];
			});
		},
	},
	{
		name: 'i-large-output',
		title: 'three megabytes of output arrive, head and tail intact',
		async run(t) {
			await t.exec(async function* () {
				const command = `echo first-line; head -c 3000000 /dev/zero | tr '\\0' 'x' | fold -w 100; echo last-line`;
				const options = {yield_time_ms: 30_000, max_output_tokens: 500};
				const ended = yield* follow(runCommand(command, options));
				t.exited(ended, 0);
				t.match(ended.output, /first-line/);
				t.match(ended.output, /last-line/);
				return [say('done')];
			});
			t.onWire(recorder => {
				const pushed = recorder.notifications('process/output').map(({msg}) => msg.params);
				const pages = recorder.answers('process/read').map(({result}) => result?.chunks ?? []);
				const sizes = [...pushed, ...pages.flat()].map(({chunk}) => Buffer.from(chunk, 'base64').length);
				t.note(`${sizes.reduce((sum, size) => sum + size, 0)} bytes seen on the wire`);
			});
		},
	},
	{
		name: 'j-parallel-commands',
		title: 'several commands in one turn',
		async run(t) {
			await t.exec(async function* () {
				const numbers = [1, 2, 3, 4];
				const calls = numbers.map(number => runCommand(`sleep 0.${number}; echo out-${number}; exit ${number}`));
				const turn = yield calls;
				for (const [index, number] of numbers.entries()) {
					const ended = yield* followOn(turn, calls[index]);
					t.match(ended.output, new RegExp(`out-${number}`));
					t.exited(ended, number);
				}
				return [say('done')];
			});
		},
	},
	{
		name: 'n-bad-cwd',
		title: 'a command in a folder that does not exist fails cleanly',
		async run(t) {
			await t.exec(async function* () {
				const missing = path.join(t.work, 'nowhere');
				const refused = yield* follow(runCommand('echo x', {workdir: missing}));
				t.note(`answer: ${brief(refused.text, 160)}`);
				t.ok(refused.text !== undefined && refused.exitCode !== 0, 'command in a missing folder succeeded');
				const next = yield* follow(runCommand('echo fine'));
				t.match(next.output, /fine/);
				return [say('done')];
			});
		},
	},
];
