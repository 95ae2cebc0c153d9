// covers: src/mcp/server/tools/exec-on-many.ts
import {expect, test} from 'vitest';
import {callText, machineAt, machineUrl, mcpService, sdkClient} from '../../helpers/mcp-service.js';

/** An address at which nothing listens. */
const NOWHERE = 'ws://127.0.0.1:9';

test('equal outcomes of many machines are answered once, others apart, and a machine that is gone is lost', async () => {
	const url = await machineUrl();
	const machines = ['web1', 'web2', 'web3', 'web4'].map(name => machineAt(url, name, {kind: 'web'}));
	const client = await sdkClient(mcpService([...machines, machineAt(NOWHERE, 'web9')], {maxChars: 1000}));
	const on = 'web1,web2,web3,web4,web9';
	const text = await callText(client, 'exec', {on, command: 'echo same'});
	expect(text.split('\n')).toEqual([
		'[4 of 5 exit 0, equal: web1 web2 web3 web4]',
		'same',
		expect.stringMatching(/^\[1 of 5 lost: web9 · /),
	]);
});

test('fifty machines answer once, and labels select them', async () => {
	const url = await machineUrl();
	const machines = Array.from({length: 50}, (_, at) => machineAt(url, `m${at}`, {half: at % 2 === 0 ? 'even' : 'odd'}));
	const client = await sdkClient(mcpService(machines));
	const all = await callText(client, 'exec', {on: machines.map(({name}) => name).join(), command: 'echo x; exit 2'});
	expect(all).toMatch(/^\[50 of 50 exit 2, equal: m0 m1 .* m49\]\nx$/);
	expect(await callText(client, 'exec', {on: '@half=odd', command: 'true'})).toMatch(
		/^\[25 of 25 exit 0, equal: m1 m3/,
	);
	expect(await callText(client, 'exec', {on: 'm1,nowhere', command: 'true'})).toMatch(
		/^ERROR unknown environment `nowhere`/,
	);
});

test('machines that are not done yet are named with the ids to wait for', async () => {
	const url = await machineUrl();
	const client = await sdkClient(mcpService([machineAt(url, 'a'), machineAt(url, 'b')]));
	const text = await callText(client, 'exec', {on: 'a,b', command: 'sleep 1000', wait_s: 0});
	const [, one, other] = /^\[2 of 2 running, equal: a=(p\d) b=(p\d)\]$/.exec(text)!;
	expect(await callText(client, 'stop', {id: one!})).toMatch(/^\[ended/);
	expect(await callText(client, 'stop', {id: other!})).toMatch(/^\[ended/);
});

test('a single machine that cannot be reached is an error, and never an exit', async () => {
	const client = await sdkClient(mcpService([machineAt(NOWHERE, 'gone')]));
	expect(await callText(client, 'exec', {command: 'true'})).toMatch(/^ERROR /);
	expect(await callText(client, 'ps', {})).toMatch(/^\[gone · lost · /);
});
