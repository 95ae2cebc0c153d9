// The tools of a coding agent on another machine: starts a program that waits for input, and answers it.
//   node examples/agent-tools.mjs ws://127.0.0.1:PORT
import {Environment, UnifiedExec} from 'longarm';

const [url] = process.argv.slice(2);
if (!url) {
	console.error('usage: node examples/agent-tools.mjs ws://127.0.0.1:PORT');
	process.exit(2);
}
const machine = Environment.remote('there', {kind: 'websocket', url});
const exec = new UnifiedExec({environment: machine});
console.log(
	exec
		.toolSpecs()
		.map(({name}) => name)
		.join(', '),
);

// What a model would say, and what it would be told.
const asked = await exec.call('exec_command', {cmd: 'read name; echo hello $name', tty: true, yield_time_ms: 500});
console.log(asked.text);
const answered = await exec.call('write_stdin', {
	session_id: asked.structured.session_id,
	chars: 'world\n',
	yield_time_ms: 2000,
});
console.log(answered.text);

await exec.close();
await machine.close();
