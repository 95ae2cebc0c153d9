// A client in a few lines: starts a command on a running server and prints what it says.
//   node examples/first-process.mjs ws://127.0.0.1:PORT ls -l /
import {pathToFileURL} from 'node:url';
import {WebSocket} from 'ws';

const [url, ...argv] = process.argv.slice(2);
if (!url || argv.length === 0) {
	console.error('usage: node examples/first-process.mjs ws://127.0.0.1:PORT COMMAND [ARG...]');
	process.exit(2);
}
const socket = new WebSocket(url);
const send = message => socket.send(JSON.stringify(message));

socket.on('error', error => {
	console.error(`cannot reach ${url}: ${error.message}`);
	process.exit(1);
});
socket.on('open', () => {
	const cwd = pathToFileURL(process.cwd()).href;
	const env = {PATH: process.env.PATH};
	send({id: 1, method: 'initialize', params: {clientName: 'first-process'}});
	send({method: 'initialized'});
	send({id: 2, method: 'process/start', params: {processId: 'first', argv, cwd, env, tty: false}});
});
socket.on('message', data => {
	const {id, error, method, params} = JSON.parse(data);
	if (error) {
		console.error(`request ${id}: ${error.message}`);
		process.exit(1);
	}
	if (method === 'process/output') process[params.stream].write(Buffer.from(params.chunk, 'base64'));
	if (method === 'process/exited') process.exitCode = params.exitCode;
	if (method === 'process/closed') socket.close();
});
