import {brief, follow, poll, runCommand, typeInto} from '../answers.mjs';
import {isAlive, until} from '../child.mjs';
import {say} from '../model.mjs';

const INTERRUPT = '\u0003';
const TRAPPING = `trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.1; done`;
const LONG_POLL_MS = 120_000;
/** A server may end the commands of a lost session after 30 s (80 s since codex 0.169); an end that the client asked for comes earlier. */
const MAX_END_MS = 20_000;

/** Commands that outlive a call and are talked to. */
export const SESSIONS = [
	{
		name: 'b-tty-interaction',
		title: 'interactive program on a terminal, answered through write_stdin',
		async run(t) {
			const command = `test -t 0 && echo is-a-tty; stty size; read -p 'name? ' n; echo "hi $n"; read -p 'again? ' m; echo "bye $m"; exit 3`;
			await t.exec(async function* () {
				const start = runCommand(command, {tty: true, yield_time_ms: 1000});
				const asked = yield* follow(start, output => output.includes('name? '));
				t.ok(asked.sessionId !== undefined, `no session id in ${JSON.stringify(asked.text)}`);
				t.match(asked.output, /is-a-tty[^]*name\? /);
				const first = typeInto(asked.sessionId, 'ada\n', {yield_time_ms: 1000});
				const askedAgain = yield* follow(first, output => output.includes('again? '));
				t.match(askedAgain.output, /hi ada[^]*again\? /);
				const ended = yield* follow(typeInto(asked.sessionId, 'bob\n', {yield_time_ms: 3000}));
				t.match(ended.output, /bye bob/);
				t.exited(ended, 3);
				return [say('done')];
			});
		},
	},
	{
		name: 'c2-closed-stdin',
		title: 'without a terminal stdin is at its end and cannot be written',
		async run(t) {
			await t.exec(async function* () {
				const start = runCommand('echo $$ > pid; cat; echo cat-ended; exec sleep 600', {yield_time_ms: 1500});
				const running = yield* follow(start, output => output.includes('cat-ended'));
				t.match(running.output, /cat-ended/);
				t.ok(running.sessionId !== undefined, 'no session id');
				const write = typeInto(running.sessionId, 'text\n', {yield_time_ms: 300});
				const turn = yield [write];
				t.note(`write_stdin answered: ${brief(turn.output(write))}`);
				return [say('done')];
			});
		},
	},
	{
		name: 'e-poll-long-command',
		title: 'command outlives its yield window and is polled to the end',
		async run(t) {
			await t.exec(async function* () {
				const command = 'echo early; until test -e go; do sleep 0.1; done; sleep 2; echo late; exit 4';
				const running = yield* follow(runCommand(command, {yield_time_ms: 300}), output => output.includes('early'));
				t.ok(running.sessionId !== undefined, `no session id in ${JSON.stringify(running.text)}`);
				t.match(running.output, /early/);
				const began = Date.now();
				t.write('go', '');
				const ended = yield* follow(poll(running.sessionId, LONG_POLL_MS));
				t.match(ended.output, /late/);
				t.exited(ended, 4);
				t.ok(Date.now() - began < LONG_POLL_MS, 'the poll did not return as soon as the command ended');
				return [say('done')];
			});
		},
	},
	{
		name: 'g-interrupt-tty',
		title: 'Ctrl-C typed into a terminal session stops the program',
		run: t => t.exec(() => interrupted(t, {tty: true})),
	},
	{
		name: 'g2-interrupt-pipe',
		title: 'Ctrl-C sent to a session without a terminal',
		async run(t) {
			await t.exec(() => interrupted(t, {}));
			t.onWire(recorder => t.equal(recorder.requests('process/signal').length, 1, 'process/signal requests'));
		},
	},
	{
		name: 'g3-client-sigint',
		title: 'SIGINT to the client ends the remote command',
		async run(t) {
			const client = t.start(async function* () {
				yield [runCommand('echo $$ > pid; sleep 600', {yield_time_ms: 30_000})];
			});
			const pid = Number(await until('the remote command', () => t.read('pid')?.trim()));
			t.ok(isAlive(pid), 'the remote command is not running');
			client.signal('SIGINT');
			await until('the remote command to end', () => !isAlive(pid), MAX_END_MS);
			t.note(`client ended with ${await client.exited}`);
			t.onWire(recorder => t.note(`terminate requests: ${recorder.requests('process/terminate').length}`));
		},
	},
];

async function* interrupted(t, options) {
	const start = runCommand(TRAPPING, {...options, yield_time_ms: 800});
	const running = yield* follow(start, output => output.includes('ready'));
	t.match(running.output, /ready/);
	t.ok(running.sessionId !== undefined, 'no session id');
	const ended = yield* follow(typeInto(running.sessionId, INTERRUPT, {yield_time_ms: 4000}));
	t.match(ended.output, /caught/);
	t.exited(ended, 9);
	return [say('done')];
}
