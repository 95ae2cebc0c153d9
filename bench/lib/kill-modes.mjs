// Circumstances under which servers are killed: users, limits on processes, and children that hide.
import {spawnSync} from 'node:child_process';
import {chmodSync, mkdirSync, rmdirSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {connect, startParams} from './client.mjs';
import {childrenOf, isWatchdog, signalProcess, statusOf, tryTo} from './proc.mjs';
import {until} from './waiting.mjs';

/** Users without an account: the kernel counts processes by user, so each server gets its own. */
const FIRST_USER = 64_100;
const PIDS_CONTROLLER = '/sys/fs/cgroup/pids';
/** Processes a server may still start when its number is limited; threads of the server count, too. */
const FREE_PROCESSES = 25;
const HOPS = 1500;
/** Programs in Python need longer than others until they do what they are for. */
const PYTHON_LOAD = {minLoadMs: 400, loadMs: 600};

const python = (script, mark, trace) => ({argv: ['python3', '-c', script, mark, trace]});
const shell = script => ({argv: ['/bin/sh', '-c', script]});

/** Forks, becomes the leader of a session and leaves its parent, again and again, and sleeps in the end if there is one. Each
 * of them touches a file, because a look would miss most of them. */
const hopper = hops => `
import os, sys, itertools
for _ in ${hops === undefined ? 'itertools.count()' : `range(${hops})`}:
	try:
		if os.fork(): os._exit(0)
		os.setsid()
		os.utime(sys.argv[2])
	except OSError: pass
os.execvp('sleep', ['sleep', sys.argv[1]])`;

/** Takes every process there is, and each that becomes free. */
const FILLER = `
import os, sys, time
while True:
	try:
		if os.fork() == 0: os.execvp('sleep', ['sleep', sys.argv[1]])
	except OSError: time.sleep(0.001)`;

/** Raises both marks where that is allowed, and lowers them elsewhere. */
const UNMARK = `
	prlimit --pid $$ --rttime=unlimited:unlimited --locks=unlimited:unlimited 2>/dev/null ||
		prlimit --pid $$ --rttime=7:7 --locks=7:7`;

const HOPPERS = [(mark, trace) => python(hopper(HOPS), mark, trace), (mark, trace) => python(hopper(), mark, trace)];
const FILLERS = [(mark, trace) => python(FILLER, mark, trace)];
const HIDERS = [
	mark => shell(`${UNMARK}; exec sleep ${mark}`),
	mark => shell(`${UNMARK}; setsid -f sleep ${mark}; exec sleep ${mark}`),
	mark => shell(`${UNMARK}; setsid -f sh -c 'setsid -f sleep ${mark}; exit 0' ${mark}`),
];

/** Each takes the number of a round and says how its server is run, which programs are added to its load, and what happens before. */
const MODES = {
	root: () => ({}),
	nobody: asUser(),
	'hoppers, root': () => ({added: HOPPERS, ...PYTHON_LOAD}),
	'hoppers, nobody': asUser({added: HOPPERS, ...PYTHON_LOAD}),
	'marks taken off, root': () => ({added: HIDERS}),
	'marks lowered, nobody': asUser({added: HIDERS}),
	'watchdog killed before, root': () => ({prepare: replaceWatchdog}),
	'watchdog killed before, nobody': asUser({prepare: replaceWatchdog}),
	'no processes left, nobody': round => {
		const mode = asUser({added: FILLERS, ...PYTHON_LOAD})(round);
		return {...mode, prepare: server => limitUser(server, mode.wrap)};
	},
	'no processes left, pids group': limitGroup,
};

/** Names of the modes; only root can play those of other users and of groups. */
export const MODE_NAMES = Object.keys(MODES);

export function openMode(name, round) {
	const trace = join(tmpdir(), `bench-kill-${process.pid}-${round}`);
	writeFileSync(trace, '');
	chmodSync(trace, 0o666);
	const mode = {
		wrap: argv => argv,
		added: [],
		minLoadMs: 0,
		loadMs: 150,
		prepare: async () => {},
		close() {},
		...MODES[name](round),
	};
	return {
		...mode,
		added: mode.added.map(program => mark => program(mark, trace)),
		/** When a process that is hard to see was alive last. */
		lastTrace: () => statSync(trace).mtimeMs,
		close() {
			mode.close();
			rmSync(trace);
		},
	};
}

function asUser(rest = {}) {
	return round => {
		const user = FIRST_USER + round;
		const words = ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups', '--inh-caps=-all'];
		return {wrap: argv => [...words, ...argv], ...rest};
	};
}

/** Bounds all processes of the server's user. Only the user itself may, unless root is allowed everything. */
async function limitUser({pid, url}, wrap) {
	await startOne(url);
	const most = statusOf(pid, 'Threads') + FREE_PROCESSES;
	for (const each of [pid, ...watchdogsOf(pid)]) {
		const [file, ...args] = wrap(['prlimit', '--pid', String(each), `--nproc=${most}:${most}`]);
		const {status, stderr} = spawnSync(file, args);
		if (status !== 0) throw new Error(`no limit on processes: ${stderr}`);
	}
}

function limitGroup(round) {
	const directory = `${PIDS_CONTROLLER}/bench-kill-${process.pid}-${round}`;
	mkdirSync(directory);
	return {
		wrap: argv => ['/bin/sh', '-c', `echo $$ > ${directory}/cgroup.procs && exec "$@"`, 'sh', ...argv],
		added: FILLERS,
		...PYTHON_LOAD,
		prepare: async ({pid, url}) => {
			await startOne(url);
			writeFileSync(`${directory}/pids.max`, String(statusOf(pid, 'Threads') + FREE_PROCESSES));
		},
		close: () => tryTo(() => rmdirSync(directory)),
	};
}

/** Kills the watchdog and waits for the next one. */
async function replaceWatchdog({pid, url}) {
	await startOne(url);
	const [first] = watchdogsOf(pid);
	signalProcess(first, 'SIGKILL');
	await until(() => watchdogsOf(pid).some(each => each !== first));
}

/** Loads the native parts of the server and starts its watchdog. */
async function startOne(url) {
	const client = await connect(url);
	await client.call('process/start', startParams({id: 'first', argv: ['true']}));
	client.socket.close();
}

function watchdogsOf(pid) {
	return childrenOf(pid).filter(isWatchdog);
}
