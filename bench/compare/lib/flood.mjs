// A client in a process of its own that makes one process flood its connection. Commands come on stdin, replies go to
// stdout, one per line: `count` tells the bytes received so far, `stop` ends the flood and reports.
import readline from 'node:readline';
import {stopFlood} from './rpc.mjs';
import {WebSocketRpc} from './web-socket-rpc.mjs';

const client = await WebSocketRpc.connect(process.argv[2]);
await client.initialize();
const flood = client.start('flood', ['cat', '/dev/zero']);
await flood.started;
console.log('ready');
for await (const line of readline.createInterface({input: process.stdin})) {
	if (line === 'count') console.log(String(flood.bytes));
	if (line === 'stop') {
		console.log(JSON.stringify(await stopFlood(client, flood)));
		break;
	}
}
process.exit(0);
