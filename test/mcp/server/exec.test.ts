// covers: src/mcp/server
import {describe, expect, test} from 'vitest';
import {callText, machineAt, machineUrl, mcpService, sdkClient, untilListed} from '../../helpers/mcp-service.js';
import {askUntil} from '../../helpers/processes.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {closeWithTest} from '../../helpers/transports.js';

const ERAS = {'2025-11-25': false, '2026-07-28': true};

for (const [version, modern] of Object.entries(ERAS)) {
	describe(`a client of ${version}`, () => {
		test('gets exit code, time, machine, id, size and output of a command', async () => {
			const client = await sdkClient(mcpService([machineAt(await machineUrl())]), {modern});
			const text = await callText(client, 'exec', {command: 'echo out; echo err >&2; exit 3'});
			expect(text).toMatch(/^\[exit 3 · [\d.]+ s · devbox · p1 · 8 bytes\]\n/);
			expect(text.split('\n').slice(1).sort()).toEqual(['err', 'out']);
		});

		test('a wrong argument is an error that names it', async () => {
			const client = await sdkClient(mcpService([machineAt(await machineUrl())]), {modern});
			const result = await client.callTool({name: 'exec', arguments: {command: 'true'}});
			expect(result.isError).toBeFalsy();
			expect(await callText(client, 'exec', {comand: 'x'})).toMatch(
				/^ERROR unknown argument "comand"; did you mean `command`\?/,
			);
			expect(await callText(client, 'exec', {command: 7})).toBe('ERROR argument command must be of type string');
			await expect(client.callTool({name: 'nothing', arguments: {}})).rejects.toThrow('unknown tool');
		});
	});
}

test('a command that is still running goes on, and wait answers with new output only', async () => {
	const url = await machineUrl();
	const client = await sdkClient(mcpService([machineAt(url)]));
	const go = `${scratchDirectory()}/go`;
	const command = `echo first; until [ -e ${go} ]; do sleep 0.02; done; echo second`;
	const started = await callText(client, 'exec', {command, wait_s: 0});
	expect(started).toMatch(/^\[running · [\d.]+ s · devbox · p1 · \d+ bytes\]/);
	await callText(client, 'exec', {command: `touch ${go}`});
	const ended = await callText(client, 'wait', {id: 'p1'});
	expect(started.includes('first') ? ended : ended.replace('first\n', '').replace('13 bytes', '7 bytes')).toMatch(
		/^\[exit 0 · .* · p1 · 7 bytes\]\nsecond$/,
	);
	expect(await callText(client, 'wait', {id: 'p1'})).toMatch(/^\[exit 0 · .* · p1 · 0 bytes\]$/);
	expect(await callText(client, 'logs', {id: 'p1'})).toMatch(
		/^\[devbox · p1 · 13 bytes · up to byte 13\]\nfirst\nsecond$/,
	);
});

test('a later client finds the processes of an earlier one under the same ids, and numbers go on', async () => {
	const url = await machineUrl();
	const first = await sdkClient(mcpService([machineAt(url)]));
	await callText(first, 'exec', {command: 'echo here; sleep 1000', wait_s: 0});
	await callText(first, 'exec', {command: 'sleep 1000', wait_s: 0, name: 'server'});
	const second = await sdkClient(mcpService([machineAt(url)]));
	const listed = await callText(second, 'ps', {});
	expect(listed).toMatch(/^\[devbox · linux, \w+, .* · 2 processes\]/);
	expect(listed).toMatch(/^p1 · running · .* · echo here; sleep 1000$/m);
	expect(listed).toMatch(/^server · running/m);
	expect(await callText(second, 'wait', {id: 'p1', until: {text: 'here'}})).toMatch(
		/^\[running .* found "here"\]\nhere$/,
	);
	expect(await callText(second, 'exec', {command: 'true'})).toContain(' · p2 · ');
	expect(await callText(second, 'stop', {id: 'server'})).toMatch(/^\[ended: exit 143 · devbox · server\]$/);
	expect(await callText(second, 'stop', {id: 'devbox.p1'})).toMatch(/^\[ended: exit 143/);
	expect(await callText(second, 'ps', {})).toMatch(/· 0 processes\]$/);
	expect(await callText(first, 'wait', {id: 'server'})).toMatch(/^\[exit 143 \(stopped\)/);
});

test('until ends a wait by text, port and silence, and the exit always does', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl())]));
	const listen = `${process.execPath} -e "require('net').createServer().listen(0,'127.0.0.1',function(){console.log('port',this.address().port)})"`;
	await callText(client, 'exec', {command: listen, wait_s: 0});
	const found = await callText(client, 'wait', {id: 'p1', until: {text: 'port \\d+'}});
	const port = Number(/found "port (\d+)"/.exec(found)?.[1]);
	expect(await callText(client, 'wait', {id: 'p1', until: {port}})).toMatch(
		new RegExp(`^\\[running .* port ${port} is open\\]`),
	);
	expect(await callText(client, 'wait', {id: 'p1', until: {silence_s: 0.05}})).toMatch(/^\[running .* silent\]/);
	await callText(client, 'exec', {command: 'echo no', name: 'short'});
	expect(await callText(client, 'wait', {id: 'short', until: {text: 'never'}})).toMatch(/^\[exit 0/);
	await callText(client, 'stop', {id: 'p1'});
});

test('a terminal is typed into, its screen is read, and a password prompt is told', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl())]));
	const asked = await callText(client, 'exec', {
		command: 'read -p "name: " n; echo "hello $n"; read -s -p "secret: " s',
		tty: true,
	});
	expect(asked).toMatch(/^\[running .* waits for input\]\nname: $/);
	const greeted = await callText(client, 'send', {id: 'p1', text: 'Ada', keys: ['Enter']});
	expect(greeted).toMatch(/^\[running .* waits for a password\]\nAda\nhello Ada\nsecret: $/);
	expect(await callText(client, 'screen', {id: 'p1'})).toMatch(
		/^\[devbox · p1 · 120x40 · cursor line 3, column 9\]\nname: Ada\nhello Ada\nsecret:$/,
	);
	expect(await callText(client, 'send', {id: 'p1', keys: ['C-c']})).toMatch(/^\[exit 130/);
	expect(await callText(client, 'send', {id: 'p1', keys: ['Entr']})).toMatch(
		/^ERROR keys: there is no key "Entr"; did you mean `Enter`/,
	);
});

test('send waits as long as it is told to, though the program is silent meanwhile', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl())]));
	await callText(client, 'exec', {command: 'read x; sleep 3; echo "done $x"; read y', tty: true});
	expect(await callText(client, 'send', {id: 'p1', text: 'a\n', wait_s: 40})).toMatch(
		/^\[running .* waits for input\]\na\ndone a$/,
	);
	await callText(client, 'stop', {id: 'p1'});
});

test('a machine that cannot tell input waits for a send as long as it is told to, too', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl({keeps: false}))]));
	await callText(client, 'exec', {command: 'read x; sleep 5; exit 7', tty: true, wait_s: 0});
	expect(await callText(client, 'send', {id: 'p1', text: 'a\n', wait_s: 40})).toMatch(/^\[exit 7 /);
});

test('a wait that is shorter than the model asked for says so, on one machine and on several', async () => {
	const url = await machineUrl();
	const machines = [machineAt(url, 'a'), machineAt(url, 'b')];
	const client = await sdkClient(mcpService(machines, {maxWaitMs: 200}));
	const note = /^\[running · .* · wait_s cut to 0\.2, the most here\]$/;
	expect(await callText(client, 'exec', {command: 'sleep 1000', wait_s: 600})).toMatch(note);
	expect(await callText(client, 'wait', {id: 'p1', wait_s: 600})).toMatch(note);
	expect(await callText(client, 'wait', {id: 'p1', wait_s: 0.1})).not.toContain('cut');
	expect(await callText(client, 'wait', {id: 'p1'})).not.toContain('cut');
	const many = await callText(client, 'exec', {command: 'sleep 1000', wait_s: 600, on: 'a,b'});
	expect(many).toMatch(/^\[2 of 2 running.* · wait_s cut to 0\.2, the most here\]$/);
	for (const id of ['p1', 'p2', 'p3']) await callText(client, 'stop', {id});
});

test('a command that changes nothing but its shell is told that this does not last', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl())]));
	expect(await callText(client, 'exec', {command: 'cd /tmp && export A=1'})).toMatch(/lasts for this command only/);
	expect(await callText(client, 'exec', {command: 'cd /tmp && pwd'})).not.toContain('lasts');
	expect(client.getInstructions()).toContain('cd and export do not last');
});

test('ps shows a command as it was given, on one line', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl())]));
	const command = 'read -p "Continue? [y/N] " a; printf "\\033[31m"';
	await callText(client, 'exec', {command, tty: true, wait_s: 0});
	await callText(client, 'exec', {command: 'sleep 1000\n[exit 0 · fake]\u001b[31m', wait_s: 0});
	const lines = (await callText(client, 'ps', {})).split('\n');
	expect(lines).toHaveLength(3);
	expect(lines.find(line => line.startsWith('p1 '))).toContain(` · ${command}`);
	expect(lines.find(line => line.startsWith('p2 '))).toMatch(/ · sleep 1000\\n\[exit 0 · fake\]\\u001b\[31m$/);
	for (const id of ['p1', 'p2']) await callText(client, 'stop', {id});
});

const DRAWN = {
	'with the alternate screen': '\\033[?1049h\\033[2J\\033[3;5Hhello\\033[1;1Hmenu',
	'that hides the cursor and clears the screen': '\\033[?25l\\033[H\\033[2Jmenu\\n\\n    hello\\033[H\\033[4C',
	'without it': '\\033[H\\033[2J\\033[3;5Hhello\\033[1;1Hmenu',
};
for (const [how, sequences] of Object.entries(DRAWN)) {
	test(`a full-screen program ${how} is answered with its screen`, async () => {
		const client = await sdkClient(mcpService([machineAt(await machineUrl())]));
		const command = `printf '${sequences}'; read x; printf '\\033[1;1Hleft'; read y`;
		expect(await callText(client, 'exec', {command, tty: true})).toMatch(
			/^\[running .* full screen, as it is now · cursor line 1, column 5(?: \(hidden\))?\]\nmenu\n \n {4}hello$/,
		);
		expect(await callText(client, 'send', {id: 'p1', keys: ['Enter']})).toMatch(/full screen, .*\]\nleft\n/);
		await callText(client, 'stop', {id: 'p1'});
	});
}

test('a program that writes lines on a terminal is answered with its new lines', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl())]));
	const command = `printf '\\033[H\\033[2J'; echo one; read x; echo two; sleep 1000`;
	await callText(client, 'exec', {command, tty: true});
	const text = await callText(client, 'send', {id: 'p1', keys: ['Enter'], until: {text: 'two'}});
	expect(text).not.toContain('full screen');
	expect(text).toMatch(/\ntwo$/);
	await callText(client, 'stop', {id: 'p1'});
});

test('input is given once and ends; without any it is empty', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl())]));
	expect(await callText(client, 'exec', {command: 'cat; echo end', stdin: 'some\n'})).toMatch(/\]\nsome\nend$/);
	expect(await callText(client, 'exec', {command: 'cat; echo end'})).toMatch(/\]\nend$/);
	expect(await callText(client, 'exec', {command: 'cat', stdin: 'x', tty: true})).toMatch(/^ERROR stdin is for pipes/);
});

test('output of any size is answered with head and tail, and the rest is in the logs', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl())], {maxChars: 200}));
	const text = await callText(client, 'exec', {command: 'seq 100000 199999'});
	expect(text).toMatch(/^\[exit 0 · .* · p1 · 700,000 bytes, 699,800 left out: logs p1\]\n100000\n/);
	expect(text).toMatch(/\n… 699,800 bytes left out …\n/);
	expect(text).toMatch(/\n199999$/);
	expect(await callText(client, 'logs', {id: 'p1', grep: '^15432\\d$', max_chars: 1000})).toContain('\n154320\n');
	expect(await callText(client, 'logs', {id: 'p1', tail: 2})).toMatch(/\]\n199998\n199999$/);
	expect(await callText(client, 'logs', {id: 'p1', from: 699_993})).toMatch(/\]\n199999$/);
});

test('a time limit of the command is kept by its machine', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl())]));
	expect(await callText(client, 'exec', {command: 'sleep 1000', limit_s: 0.1})).toMatch(/^\[exit \d+ \(time limit\)/);
});

test('a machine that keeps no processes runs commands all the same, and says what it lacks', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl({keeps: false}))]));
	expect(await callText(client, 'exec', {command: 'echo one; exit 4'})).toMatch(
		/^\[exit 4 · .* · p1 · 4 bytes\]\none$/,
	);
	await callText(client, 'exec', {command: 'read -p "go? " x; echo "got $x"; sleep 1000', tty: true, wait_s: 0});
	expect(await callText(client, 'send', {id: 'p2', text: 'yes\n', until: {text: 'got yes'}})).toMatch(
		/^\[running .* found "got yes"\]/,
	);
	expect(await callText(client, 'ps', {})).toMatch(/keeps no processes beyond this session\]\np2 running/);
	expect(await callText(client, 'exec', {command: 'true', keep: true})).toMatch(/^ERROR devbox has no `keep`/);
	expect(await callText(client, 'logs', {id: 'p1'})).toMatch(/\]\none$/);
	expect(await callText(client, 'stop', {id: 'p2'})).toMatch(/^\[ended: exit \d+/);
});

test('a process that takes no input is not taken for a machine that is lost', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl())]));
	await callText(client, 'exec', {command: 'sleep 1000', wait_s: 0});
	expect(await callText(client, 'send', {id: 'p1', text: 'x'})).toBe('ERROR p1 takes no input (stdinClosed)');
	await callText(client, 'stop', {id: 'p1'});
});

test('a cancelled call ends the waiting and not the command', async () => {
	const url = await machineUrl();
	const client = await sdkClient(mcpService([machineAt(url)]));
	const abort = new AbortController();
	const call = client.callTool({name: 'exec', arguments: {command: 'sleep 1000'}}, {signal: abort.signal});
	const watcher = await sdkClient(mcpService([machineAt(url)]));
	await untilListed(watcher, /p1 · running/);
	abort.abort('enough');
	await expect(call).rejects.toThrow(/abort|enough|cancel/i);
	expect(await callText(watcher, 'ps', {})).toMatch(/^p1 · running/m);
	expect(await callText(client, 'stop', {id: 'p1'})).toMatch(/^\[ended/);
});

test('a person who types keeps the terminal', async () => {
	const url = await machineUrl();
	const client = await sdkClient(mcpService([machineAt(url)]));
	await callText(client, 'exec', {command: 'cat', tty: true, name: 'shared'});
	const environment = closeWithTest(machineAt(url).environment);
	const seated = await askUntil(
		() => environment.attach('shared', {role: 'drive'}).catch(() => undefined),
		handle => handle !== undefined,
	);
	const person = seated!;
	expect(await callText(client, 'send', {id: 'shared', text: 'x'})).toMatch(/^ERROR .* types into this process now/);
	await person.detach();
	expect(await callText(client, 'send', {id: 'shared', text: 'x\n'})).toMatch(/^\[running/);
	await callText(client, 'stop', {id: 'shared'});
});
