// The client library: runs a command on a server, prints what it says, and goes on when the link breaks.
//   node examples/remote-process.mjs ws://127.0.0.1:PORT ls -l /
import {pathToFileURL} from 'node:url';
import {connectWebSocket, SessionClient} from 'longarm';

const [url, ...argv] = process.argv.slice(2);
if (!url || argv.length === 0) {
	console.error('usage: node examples/remote-process.mjs ws://127.0.0.1:PORT COMMAND [ARG...]');
	process.exit(2);
}
const client = await SessionClient.open(signal => connectWebSocket(url, {signal}));
const {process: remote} = await client.start({
	processId: 'example',
	argv,
	cwd: pathToFileURL(process.cwd()).href,
	env: {PATH: process.env.PATH},
	tty: false,
});
for await (const event of remote.events()) {
	if (event.kind === 'output') (event.stream === 'stderr' ? process.stderr : process.stdout).write(event.bytes);
	else if (event.kind === 'gap') console.error(`[${event.missedBytes ?? 'some'} bytes are gone]`);
}
process.exitCode = (await remote.exited).exitCode;
client.close();
