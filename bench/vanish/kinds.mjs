import {createHash, randomBytes} from 'node:crypto';
import {readFileSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {delay, until} from '../lib/waiting.mjs';

const COPY_BYTES = 64 * 1024 * 1024;
const LINES_PER_SECOND = 100;

/** A child and what it says. */
export class Program {
	child;
	stdout = [];
	stderr = '';

	constructor(child) {
		this.child = child;
		child.stdin.on('error', () => {});
		child.stdout.on('data', data => this.stdout.push(data));
		child.stderr.setEncoding('utf8').on('data', text => (this.stderr += text));
		this.ended = new Promise(resolve => child.once('close', code => resolve(code)));
	}

	get text() {
		return Buffer.concat(this.stdout).toString();
	}

	logs(pattern) {
		return until(() => pattern.test(this.stderr), {everyMs: 50});
	}

	shows(pattern) {
		return until(() => pattern.test(this.text), {everyMs: 50});
	}
}

const LOST = /link is lost|lost far|connection was lost/;
const BACK = /link is back|far is back|going on where it stopped/;

function onStderr(program, verify) {
	return {lost: () => program.logs(LOST), back: () => program.logs(BACK), verify};
}

const hash = bytes => createHash('sha256').update(bytes).digest('hex');

/**
 * Work over a link that will die: what is said when the client notices (`lost`) and when it has the link back, and whether
 * everything is whole in the end (`verify`, undefined if it is).
 */
export const KINDS = {
	async idle({start, longarm}) {
		const program = start(longarm('run', '-e', 'far', '--', 'sh', '-c', 'echo ready; read line; echo "$line"; exit 4'));
		await program.shows(/ready/);
		return onStderr(program, async () => {
			program.child.stdin.end('on\n');
			const code = await program.ended;
			return code === 4 && program.text === 'ready\non\n' ? undefined : `exit ${code}: ${program.text}`;
		});
	},

	async streaming({start, longarm, home}) {
		const script = `i=0; until [ -e ${home}/stop ]; do i=$((i+1)); echo $i; sleep ${1 / LINES_PER_SECOND}; done`;
		const program = start(longarm('run', '-e', 'far', '--', 'sh', '-c', script));
		await program.shows(/\n5\n/);
		return onStderr(program, async () => {
			writeFileSync(join(home, 'stop'), '');
			const code = await program.ended;
			const lines = program.text.trim().split('\n');
			const wrong = lines.findIndex((line, at) => Number(line) !== at + 1);
			return code === 0 && wrong < 0 ? undefined : `exit ${code}, line ${wrong} is ${lines[wrong]}`;
		});
	},

	async writing({start, longarm}) {
		const program = start(longarm('run', '-e', 'far', '--', 'cat'));
		const written = [];
		const input = {isOver: false};
		const feed = async () => {
			while (!input.isOver) {
				const piece = randomBytes(10_000);
				written.push(piece);
				program.child.stdin.write(piece);
				await delay(20);
			}
			program.child.stdin.end();
		};
		const fed = feed();
		await until(() => program.stdout.length > 0);
		return onStderr(program, async () => {
			input.isOver = true;
			await fed;
			const code = await program.ended;
			const [sent, got] = [Buffer.concat(written), Buffer.concat(program.stdout)];
			return code === 0 && hash(sent) === hash(got) ? undefined : `exit ${code}, ${got.length} of ${sent.length} bytes`;
		});
	},

	async shell({start, longarm}) {
		const command = longarm('shell', '-e', 'far', '--', 'sh')
			.map(each => `'${each}'`)
			.join(' ');
		const program = start(['script', '-qec', command, '/dev/null']);
		program.child.stdin.write('x=kept; echo rea"dy"\n');
		await program.shows(/ready/);
		const verify = async () => {
			program.child.stdin.write('echo "it is $x"; exit 3\n');
			const code = await program.ended;
			return code === 3 && program.text.includes('it is kept') ? undefined : `exit ${code}`;
		};
		return {lost: () => program.shows(LOST), back: () => program.shows(BACK), verify};
	},

	async copy({start, longarm, home}) {
		const [source, target] = [join(home, 'source'), join(home, 'target')];
		writeFileSync(source, randomBytes(COPY_BYTES));
		let program;
		return {
			// The connection of a copy is as old as the copy: it has to be under way.
			async beforeVanishing() {
				program = start(longarm('cp', source, `far:${target}`));
				await until(() => sizeOf(`${target}.longarm-part`) > 0, {everyMs: 1});
			},
			lost: () => program.logs(LOST),
			back: () => program.logs(BACK),
			async verify() {
				const code = await program.ended;
				return code === 0 && hash(readFileSync(source)) === hash(readFileSync(target)) ? undefined : `exit ${code}`;
			},
		};
	},

	async forward({start, longarm, link}) {
		const echo = start([...link.onServer, process.execPath, '-e', ECHO]);
		await echo.shows(/\n/);
		const program = start(longarm('forward', '-e', 'far', `0:127.0.0.1:${echo.text.trim()}`));
		await program.shows(/\n/);
		const port = /:(\d+) -> /.exec(program.text)[1];
		const dial = () => start([...link.onClient, process.execPath, '-e', DIAL, port]);
		const first = dial();
		first.child.stdin.write('one\n');
		await first.shows(/one/);
		return {
			...onStderr(program, async () => {
				const code = await first.ended;
				const second = dial();
				second.child.stdin.write('two\n');
				await second.shows(/two/);
				return code === 7 ? undefined : `the old connection ended with ${code}`;
			}),
			beforeVanishing: () => void first.child.stdin.write('more\n'),
		};
	},
};

const ECHO = `require('net').createServer(s=>s.on('error',()=>{}).pipe(s)).listen(0,'127.0.0.1',function(){console.log(this.address().port)})`;
const DIAL = `const s=require('net').connect(process.argv[1],'127.0.0.1');process.stdin.pipe(s).pipe(process.stdout);s.on('error',()=>process.exit(7))`;

function sizeOf(path) {
	try {
		return statSync(path).size;
	} catch {
		return 0;
	}
}
