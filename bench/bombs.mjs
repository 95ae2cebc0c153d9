// Children that fork as fast as they may, take all the memory they get and flood both streams, at once: the server goes on.
//   node bench/bombs.mjs [--seconds 30] [--processes 200] [--memory 2147483648]      ends with a table, exit 1 on a broken promise
// Bounded on purpose: the server runs as nobody with these limits, so nothing else on the machine suffers. Needs root.
import {connect, startParams} from './lib/client.mjs';
import {Mark} from './lib/mark.mjs';
import {MIB} from './lib/measure.mjs';
import {readOptions} from './lib/options.mjs';
import {isWatchdog, sessionOf} from './lib/proc.mjs';
import {AS_NOBODY, COMMAND, startServer} from './lib/server.mjs';
import {spread} from './lib/stats.mjs';
import {finish, rowsOf} from './lib/tables.mjs';
import {delay, until} from './lib/waiting.mjs';

const ASK_EVERY_MS = 50;
/** When the last of them has to be gone. */
const GONE_MS = 5000;
/** An answer that takes longer is one that somebody gave up on. */
const LATE_MS = 5000;

/** The one that leaves no process for the others comes last. */
const BOMBS = {
	flood: ['/bin/sh', '-c', 'yes out & yes err >&2'],
	memory: [process.execPath, '-e', 'const all = []; for (;;) all.push(Buffer.alloc(16 << 20, 1));'],
	forks: ['/usr/bin/perl', '-e', 'fork while 1'],
};

const {seconds, processes, memory, command} = readOptions('Children that would bring a machine down.', {
	seconds: {default: 30, help: 'how long they may'},
	processes: {default: 200, help: 'processes the user may have'},
	memory: {default: 2 ** 31, help: 'bytes of data one process may have'},
	command: COMMAND,
});

const mark = new Mark(process.pid, 0);
const limits = ['prlimit', `--nproc=${processes}`, `--data=${memory}`, '--core=0'];
const server = await startServer({
	command,
	settings: ['--child-nice', '5', '--detached-session', '0s'],
	// The user comes first: the limit on processes is that of whoever runs the rest.
	wrap: argv => mark.wrap([...AS_NOBODY, ...limits, ...argv]),
});
const seen = {exits: {}, output: 0};
const client = await connect(server.url, {
	notified: (method, {processId, exitCode, chunk}) => {
		if (method === 'process/output') seen.output += chunk.length;
		if (method === 'process/exited') seen.exits[processId.replace(/\.\d+$/, '')] = exitCode;
	},
});
const asks = {answered: [], failed: 0};
const trial = {isOver: false};
const asking = ask();
const deadline = performance.now() + seconds * 1000;
let most = 0;
let starts = 0;
while (performance.now() < deadline) {
	// Bombs that were ended, or could not even be started for want of processes, are tried again.
	for (const [name, argv] of Object.entries(BOMBS)) {
		await client
			.call('process/start', startParams({id: `${name}.${starts++}`, argv}))
			.catch(error => console.error(`${name}: ${error.message}`));
	}
	await delay(2000);
	most = Math.max(most, mark.living().length);
}
trial.isOver = true;
await asking;
const other = await connect(server.url);
const {status} = await other.call('environment/status', {});
const {processes: listed} = await client.call('process/list', {});
await Promise.all(listed.map(({processId}) => client.call('process/terminate', {processId})));
// Processes that outlived their command end with the session.
client.socket.close();
const others = () => mark.living().filter(({pid}) => pid !== server.pid && !isWatchdog(sessionOf(pid)));
const areGone = await until(() => others().length === 0, {withinMs: GONE_MS, everyMs: 50});
const left = others();
for (const {pid, command: line} of left) console.error(`left: ${pid} ${line}`);
const exitCode = await server.stop();
const after = await until(() => mark.living().length === 0, {withinMs: GONE_MS});

const row = rowsOf('bombs');
finish([
	row('seconds, starts', `${seconds}, ${starts}`),
	row('most processes at once', most, most > processes / 4),
	row('MiB of output taken', Math.round((seen.output * 0.75) / MIB), seen.output > 0),
	row('exit codes seen', JSON.stringify(seen.exits)),
	row('questions answered / failed', `${asks.answered.length} / ${asks.failed}`, asks.failed === 0),
	row('ms to an answer (median / p99 / most)', spread(asks.answered, 1), Math.max(...asks.answered) < LATE_MS),
	row('a new connection afterwards', status, status === 'ready'),
	row('left when the session is over', left.length, areGone),
	row('exit code of the server; left', `${exitCode}; ${mark.living().length}`, exitCode === 0 && after),
]);

async function ask() {
	while (!trial.isOver) {
		const began = performance.now();
		try {
			await client.call('environment/status', {});
			asks.answered.push(performance.now() - began);
		} catch (error) {
			asks.failed++;
			console.error(error.message);
		}
		await delay(ASK_EVERY_MS);
	}
}
