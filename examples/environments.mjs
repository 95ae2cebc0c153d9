// The same commands here and on another machine: runs a script, waits for what it says, and copies a file home.
//   node examples/environments.mjs ws://127.0.0.1:PORT
import {Environment} from 'longarm';

const [url] = process.argv.slice(2);
if (!url) {
	console.error('usage: node examples/environments.mjs ws://127.0.0.1:PORT');
	process.exit(2);
}
const here = Environment.local();
const there = Environment.remote('there', {kind: 'websocket', url});

for (const machine of [here, there]) {
	const {stdout, durationMs} = await machine.run(['sh', '-c', 'echo "$(uname -s) says hello"']);
	console.log(`${machine.id}: ${stdout.text.trim()} (${durationMs < 60_000 ? 'in time' : 'late'})`);
}

const server = await there.start(['sh', '-c', 'sleep 0.1; echo listening on port 8080; sleep 1000']);
const {match} = await there.waitFor(server, {pattern: /port (\d+)/}, {timeout: 10_000});
console.log(`there: ready on ${match[1]}`);

const failed = await there.run(['sh', '-c', 'echo no such luck >&2; exit 7'], {reject: false});
console.log(`there: ${failed.reason} ${failed.exitCode}, ${failed.stderr.text.trim()}`);

await server.terminate();
await Promise.all([here.close(), there.close()]);
