// The files of a server: copies a file or a directory of this machine there and lists what has arrived.
//   node examples/files.mjs ws://127.0.0.1:PORT ./site /srv/site
import {resolve} from 'node:path';
import {connectWebSocket, LocalFiles, nativePathOf, RemoteFiles, SessionClient, transfer} from 'longarm';

const [url, source, target] = process.argv.slice(2);
if (!url || !source || !target) {
	console.error('usage: node examples/files.mjs ws://127.0.0.1:PORT SOURCE TARGET');
	process.exit(2);
}
const client = await SessionClient.open(signal => connectWebSocket(url, {signal}));
const files = new RemoteFiles(async () => client);
const {entries, bytes, errors} = await transfer(
	{from: {files: new LocalFiles(), path: resolve(source)}, to: {files, path: target}},
	{progress: ({bytes: sent, total}) => process.stderr.write(`${sent} of ${total?.bytes ?? '?'} bytes\n`)},
);
for (const {path, message} of errors) console.error(`not taken along: ${nativePathOf(path)}: ${message}`);
console.log(`${entries} entries, ${bytes} bytes`);
for (const {path, kind} of (await files.walk(target)).entries) console.log(`${kind} ${nativePathOf(path)}`);
client.close();
