// Stands between client and server on stdio: runs the server and records both directions.
//   node stdio-tap.mjs <transcript.jsonl> <program> [args...]
import {spawn} from 'node:child_process';
import {Recorder} from './recorder.mjs';

const NOT_STARTED_STATUS = 127;
const [file, program, ...args] = process.argv.slice(2);
const recorder = new Recorder(file);
const child = spawn(program, args, {stdio: ['pipe', 'pipe', 'inherit']});
recorder.add({conn: 1, event: 'spawn', program: program.split('/').pop(), args});

const recordUp = lineRecorder('c>s');
const recordDown = lineRecorder('s>c');
process.stdin.on('data', data => {
	recordUp(data);
	child.stdin.write(data);
});
process.stdin.on('end', () => {
	recorder.add({conn: 1, event: 'close', by: 'client'});
	child.stdin.end();
});
child.stdout.on('data', data => {
	recordDown(data);
	process.stdout.write(data);
});
child.on('error', ({message}) => {
	recorder.add({conn: 1, event: 'error', by: 'server', message});
	process.exit(NOT_STARTED_STATUS);
});
child.on('exit', (code, signal) => {
	recorder.add({conn: 1, event: 'exit', code, signal});
	process.exit(code ?? 1);
});
for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
	process.on(name, () => {
		recorder.add({conn: 1, event: 'signal', name});
		child.kill(name);
	});
}

function lineRecorder(direction) {
	let rest = '';
	return data => {
		const lines = (rest + data.toString('utf8')).split('\n');
		rest = lines.pop();
		for (const line of lines.filter(Boolean)) recorder.addMessage(1, direction, Buffer.from(line), false);
	};
}
