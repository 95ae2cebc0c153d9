import {spawn} from 'node:child_process';
import {connect, startParams} from './client.mjs';
import {printedAddress} from './printed-address.mjs';
import {usageOf} from './proc.mjs';
import {delay, until} from './waiting.mjs';

/** The built command; run `npm run build` first. */
export const COMMAND = {
	default: new URL('../../dist/bin/longarm.js', import.meta.url).pathname,
	help: 'the server to try',
};
/** Put in front of a command line to run it as nobody; needs root. */
export const AS_NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
/** How long a server may take to end when it is asked to. */
const STOP_MS = 20_000;

const running = new Set();
process.on('exit', () => {
	for (const child of running) child.kill();
});

/**
 * Starts longarm on a free loopback port. `wrap` may put a program in front that executes the rest of its arguments, so
 * that the pid stays the server's.
 */
export function startServer({
	command = COMMAND.default,
	logLevel = 'warn',
	settings = [],
	wrap = argv => argv,
	echo = true,
} = {}) {
	return startServerCommand(wrap([process.execPath, command, 'serve', '--log-level', logLevel, ...settings]), {echo});
}

/** Starts any command that serves and prints its address; `echo` passes its stderr on. */
export async function startServerCommand([file, ...args], {echo = true} = {}) {
	const child = spawn(file, args, {stdio: ['ignore', 'pipe', 'pipe']});
	running.add(child);
	let [stderr, end] = ['', undefined];
	child.stderr.setEncoding('utf8').on('data', text => {
		stderr += text;
		if (echo) process.stderr.write(text);
	});
	const exited = new Promise(resolve => {
		child.once('exit', (code, signal) => {
			running.delete(child);
			end = {code, signal};
			resolve(end);
		});
	});
	const url = await printedAddress(child);
	return {
		url,
		pid: child.pid,
		/** Settles with `{code, signal}`. */
		exited,
		/** How it ended, for error messages; undefined while it runs. */
		get death() {
			return end && `the server ended with ${end.code ?? end.signal} and said: ${stderr}`;
		},
		/** Its standard error so far. */
		get stderr() {
			return stderr;
		},
		/** The same by line, without the warning about servers of root. */
		log: () => stderr.split('\n').filter(line => line && !line.includes('runs as root')),
		kill: signal => child.kill(signal),
		/** Asks it to end; the exit code, or `null` when it had to be killed. */
		async stop() {
			child.kill('SIGTERM');
			const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
			const {code} = await exited;
			clearTimeout(timer);
			return code;
		},
	};
}

/** Starts and ends a first process, which loads the native parts; afterwards the server is at rest again. */
export async function warmUp({url, pid}) {
	const client = await connect(url);
	await client.call('process/start', startParams({id: 'warm-up', argv: ['true']}));
	client.socket.close();
	await until(() => usageOf(pid).children === 0);
	await delay(1000);
}
