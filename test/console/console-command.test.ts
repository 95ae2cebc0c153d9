import {expect, test} from 'vitest';
import {Command, run} from '../helpers/command.js';
import {connected, serving} from '../helpers/serving.js';

/** A console of these machines, and a browser that is logged in. */
async function consoleOf(...urls: string[]): Promise<{command: Command; page: string; cookie: string}> {
	const command = new Command(['console', ...urls.flatMap(url => ['-e', url])]);
	const [page, secret] = (await command.url()).split('#login=');
	const headers = {'content-type': 'application/json', origin: new URL(page!).origin};
	const answer = await fetch(`${page}login`, {method: 'POST', headers, body: JSON.stringify({link: secret})});
	return {command, page: page!, cookie: answer.headers.get('set-cookie')!.split(';', 1)[0]!};
}

test('a console leads a browser to each of its machines', async () => {
	const [one, other] = [await serving(), await serving()];
	const {page, cookie} = await consoleOf(one.url, other.url);
	const {origin} = new URL(page);
	const session = await fetch(`${page}session`, {headers: {cookie}});
	expect(await session.json()).toEqual({
		machines: [
			{id: '0', name: one.url},
			{id: '1', name: other.url},
		],
		share: null,
	});
	for (const [id, machine] of [one, other].entries()) {
		const socket = await connected(`${page.replace('http', 'ws')}ws/${id}`, {headers: {cookie, origin}});
		const answered = new Promise<string>(resolve => {
			socket.once('message', (data: Buffer) => resolve(data.toString()));
		});
		socket.send(JSON.stringify({id: 1, method: 'initialize', params: {clientName: 'page'}}));
		expect(JSON.parse(await answered)).toMatchObject({id: 1, result: {sessionId: expect.any(String) as string}});
		expect(machine.ends).toHaveLength(1);
	}
});

test('a machine that cannot be reached is told on the terminal, and the page gets 502', async () => {
	const {page, cookie, command} = await consoleOf('ws://127.0.0.1:1');
	const headers = {cookie, origin: new URL(page).origin};
	await expect(connected(`${page.replace('http', 'ws')}ws/0`, {headers})).rejects.toThrow('502');
	await command.logs('ws://127.0.0.1:1 cannot be reached');
});

test('the protocol itself is served nowhere but below the console', async () => {
	const {page} = await consoleOf((await serving()).url);
	const socket = await connected(page.replace('http', 'ws').replace('/console/', '/'));
	const code = new Promise(resolve => {
		socket.once('close', resolve);
	});
	expect(await code).toBe(1006);
});

test('another link is printed for each line of input, and a signal ends the console', async () => {
	const command = new Command(['console', '-e', (await serving()).url]);
	const first = await command.url();
	command.child.stdin.write('\n');
	await command.until(() => command.stdout.split('\n').length > 2, 'another link');
	expect(new Set(command.stdout.trim().split('\n'))).toHaveProperty('size', 2);
	expect(command.stdout).toContain(first);
	command.child.kill('SIGINT');
	expect(await command.ended).toEqual({code: 0, signal: null});
});

test('addresses that other machines could reach are refused', async () => {
	for (const address of ['0.0.0.0:8080', '192.0.2.1:8080', 'nonsense']) {
		expect(await run(['console', '--listen', address, '-e', 'ws://127.0.0.1:1'])).toMatchObject({
			code: 2,
			stderr: expect.stringContaining('expected a loopback address') as string,
		});
	}
});
