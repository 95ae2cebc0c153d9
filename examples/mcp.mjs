// Runs an MCP server on another machine and lists its tools.
//   node examples/mcp.mjs ws://127.0.0.1:PORT npx some-mcp-server
import {Client} from '@modelcontextprotocol/client';
import {Environment} from 'longarm';
import {ProcessTransport} from 'longarm/mcp';

const [url, ...argv] = process.argv.slice(2);
if (!url || argv.length === 0) {
	console.error('usage: node examples/mcp.mjs ws://127.0.0.1:PORT COMMAND [ARG...]');
	process.exit(2);
}
const machine = Environment.remote('there', {kind: 'websocket', url});
const client = new Client({name: 'example', version: '1.0.0'});
await client.connect(new ProcessTransport(machine, argv));
const {tools} = await client.listTools();
console.log(`${client.getServerVersion().name}: ${tools.map(({name}) => name).join(', ')}`);
await client.close();
await machine.close();
