import {spawn} from 'node:child_process';
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {onTestFinished} from 'vitest';
import {listChildren} from '../../src/processes/tree/process-tree.js';
import {Command} from './command.js';
import {joined} from './process-api.js';
import {eventually, isAlive} from './processes.js';
import type {TestClient} from './test-client.js';

/**
 * Prints the ids of all its processes: itself, a child, and in a session of its own as well as cut off from it by a
 * double fork, a process with a child and with one that cut itself off once more.
 */
export const FAMILY = `
	branch='echo $$; sleep 1000 & echo $!; setsid -f sh -c "echo \\$\\$; exec sleep 1000"; wait'
	echo $$
	sleep 1000 & echo $!
	setsid sh -c "$branch" &
	setsid -f sh -c "$branch"
	wait
`;
export const FAMILY_SIZE = 8;

/** Prints its id and stays when the process that started it is over and done with. */
export const DAEMON = `setsid -f sh -c 'echo $$; exec sleep 1000 > /dev/null 2>&1'`;

/** The built command, which answers for everything below it, and a client. */
export async function inCharge(...settings: string[]): Promise<{command: Command; client: TestClient; url: string}> {
	const command = new Command(['serve', '--log-level', 'silent', ...settings]);
	const url = await command.url();
	return {command, client: await joined(url), url};
}

/** A process nobody but the test has anything to do with. */
export function stranger(): number {
	const child = spawn('sleep', ['1000'], {stdio: 'ignore', detached: true});
	onTestFinished(() => void child.kill('SIGKILL'));
	return child.pid!;
}

/** The process that stays to clean up when the server is killed. */
export function watchdogOf(server: number): Promise<number> {
	return eventually(() => listChildren(server).find(pid => commandLine(pid).includes('longarm-watchdog')));
}

/** Living processes that were started with this text as one of their arguments. */
export function runningWith(argument: string): number[] {
	return readdirSync('/proc')
		.filter(name => /^\d+$/.test(name))
		.map(Number)
		.filter(pid => commandLine(pid).includes(argument) && isAlive(pid));
}

/** Whether keys typed on its terminal reach this process now: it is not stopped, and its group has the terminal. */
export function isInForeground(pid: number): boolean {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
		const [state, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
		return state !== 'T' && group === foreground;
	} catch {
		return false;
	}
}

/** Waits until not even a zombie is left. */
export async function untilReaped(...pids: number[]): Promise<void> {
	for (const pid of pids) await eventually(() => !existsSync(`/proc/${pid}`));
}

function commandLine(pid: number): string[] {
	try {
		return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
	} catch {
		return [];
	}
}
