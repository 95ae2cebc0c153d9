// The network of a server: fetches a URL from there and passes on the body as it arrives.
//   node examples/fetch.mjs ws://127.0.0.1:PORT http://127.0.0.1:3000/
import {connectWebSocket, RemoteHttp, SessionClient} from 'longarm';

const [url, address] = process.argv.slice(2);
if (!url || !address) {
	console.error('usage: node examples/fetch.mjs ws://127.0.0.1:PORT URL');
	process.exit(2);
}
const client = await SessionClient.open(signal => connectWebSocket(url, {signal}));
const http = new RemoteHttp(async () => client);
const response = await http.fetch(address, {timeoutMs: 60_000});
console.error(response.status, response.headers.get('content-type'));
for await (const chunk of response.body ?? []) process.stdout.write(chunk);
process.exitCode = response.ok ? 0 : 1;
client.close();
