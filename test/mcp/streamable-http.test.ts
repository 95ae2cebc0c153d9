import {Client, StreamableHTTPClientTransport} from '@modelcontextprotocol/client';
import {describe, expect, onTestFinished, test} from 'vitest';
import {ENVIRONMENTS} from '../helpers/transports.js';

const SERVER = new URL('../fixtures/mcp-server.mjs', import.meta.url).pathname;

describe.each(Object.entries(ENVIRONMENTS))('on %s', (name, machine) => {
	test('a server that speaks streamable HTTP is called through the network of its machine', async ({skip}) => {
		if (name.startsWith('hub to the stock')) skip('the same as without a hub, and slow there');
		const environment = await machine();
		const server = await environment.start([process.execPath, SERVER, 'http']);
		onTestFinished(async () => void (await server.terminate()));
		const {match} = (await environment.waitFor(server, {pattern: /^(\d+)\n/})) as {match: RegExpMatchArray};
		const client = new Client({name: 'test', version: '1'});
		const url = new URL(`http://127.0.0.1:${match[1]}/mcp`);
		await client.connect(new StreamableHTTPClientTransport(url, {fetch: environment.fetch}));
		onTestFinished(() => client.close());
		expect((await client.listTools()).tools.map(tool => tool.name)).toEqual(['echo', 'hang', 'crash']);
		for (let index = 0; index < 20; index++) {
			const {content} = await client.callTool({name: 'echo', arguments: {text: `call ${index}`}});
			expect(content).toEqual([{type: 'text', text: `call ${index}`}]);
		}
	});
});
