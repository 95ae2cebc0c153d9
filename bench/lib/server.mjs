import {spawn} from 'node:child_process';

/** The built command; run `npm run build` first. */
export const COMMAND = {
	default: new URL('../../dist/bin/longarm.js', import.meta.url).pathname,
	help: 'the server to try',
};
/** How long a server may take to be there, or to end when it is asked to. */
const PATIENCE_MS = 20_000;

const running = new Set();
process.on('exit', () => {
	for (const child of running) child.kill();
});

/**
 * Starts the server on a free loopback port. `wrap` may put a program in front that executes the rest of its arguments,
 * so that the pid stays the server's.
 */
export async function startServer({command = COMMAND.default, settings = [], wrap = argv => argv, echo = true} = {}) {
	const [file, ...args] = wrap([process.execPath, command, 'serve', '--log-level', 'warn', ...settings]);
	const child = spawn(file, args, {stdio: ['ignore', 'pipe', 'pipe']});
	running.add(child);
	const log = [];
	child.stderr.setEncoding('utf8').on('data', text => {
		log.push(text);
		if (echo) process.stderr.write(text);
	});
	const exited = new Promise(resolve => {
		child.once('exit', (code, signal) => {
			running.delete(child);
			resolve({code, signal});
		});
	});
	const url = await new Promise((resolve, reject) => {
		child.stdout.once('data', data => resolve(String(data).trim()));
		child.once('error', reject);
		void exited.then(({code, signal}) => reject(new Error(`the server ended with ${code ?? signal}: ${log.join('')}`)));
	});
	return {
		url,
		pid: child.pid,
		/** Settles with `{code, signal}`. */
		exited,
		/** What it wrote to standard error so far, by line. */
		log: () => log.join('').split('\n').filter(Boolean),
		kill: signal => child.kill(signal),
		/** Asks it to end; the exit code, or `null` when it had to be killed. */
		async stop() {
			child.kill('SIGTERM');
			const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
			const {code} = await exited;
			clearTimeout(timer);
			return code;
		},
	};
}
