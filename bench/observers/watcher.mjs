// Observers of one process in a process of their own: `watcher.mjs URL ID COUNT [stalled]`. Tells its parent when all are
// attached and, as `{received, missed, gaps, wrong, exitCode}` each, what they got; stalled ones read nothing until told to.
import {connect} from '../lib/client.mjs';
import {watchBlocks} from '../lib/numbered-blocks.mjs';

const [url, id, count, mode] = process.argv.slice(2);
const observers = [];
for (let index = 0; index < Number(count); index++) observers.push(await attach());
process.send('attached');
if (mode === 'stalled') {
	for (const {client} of observers) client.socket.pause();
	await new Promise(resolve => process.once('message', resolve));
	for (const {client} of observers) client.socket.resume();
}
process.send(await Promise.all(observers.map(report)), () => process.exit());

async function attach() {
	const client = await connect(url);
	const watched = watchBlocks(client, id);
	await client.call('process/attach', {process: id, role: 'observe', afterSeq: 0});
	return {client, ...watched};
}

async function report({checker, done}) {
	const exitCode = await done;
	const {receivedBytes: received, missedBytes: missed, gaps, wrongChunks: wrong} = checker;
	return {received, missed, gaps, wrong, exitCode};
}
