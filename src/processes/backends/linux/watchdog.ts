// Linux only: finds descendants by their tag in /proc.
import {closeSync, constants} from 'node:fs';
import type {Libc} from './libc.js';

const O_CLOEXEC = 0o2000000;

/**
 * Waits for the end of its input, which comes when the server exits for any reason. Then kills every process whose tag
 * begins with $1 until none is left: processes forked meanwhile inherit the tag. Zombies are skipped, because they keep
 * their tag until they are reaped.
 */
const SCRIPT = `
trap '' HUP INT TERM
cat >/dev/null
tries=0
while [ $tries -lt 100 ]; do
	pids=$(
		grep -ls "^Max realtime timeout  *$1" /proc/[0-9]*/limits | sed 's/limits$/status/' |
			xargs -r grep -Ls '^State:.Z' | sed 's/[^0-9]//g'
	)
	[ -n "$pids" ] || exit 0
	kill -9 $pids 2>/dev/null
	tries=$((tries + 1))
	sleep 0.02
done
`;

/** Spawns a program with the given redirections and returns its pid. */
export type Launch = (argv: readonly string[], redirect: (actions: Uint8Array) => void) => number;

/**
 * Starts the watchdog, which kills all processes with a tag that begins with `prefix` when this process is gone, even by
 * SIGKILL. Costs nothing per child. Must be called before this process carries such a tag itself. Returns its pid.
 */
export function startWatchdog(libc: Libc, prefix: string, launch: Launch): number {
	const pipe: [number, number] = [0, 0];
	if (libc.pipe2(pipe, O_CLOEXEC) !== 0) throw new Error(`no pipe for the watchdog: errno ${libc.errno()}`);
	// The writing end is never closed here: the kernel closes it when this process exits.
	const [input] = pipe;
	try {
		return launch(['/bin/sh', '-c', SCRIPT, 'longarm-watchdog', prefix], actions => {
			libc.actionsDup2(actions, input, 0);
			libc.actionsOpen(actions, 1, '/dev/null', constants.O_WRONLY, 0);
			libc.actionsOpen(actions, 2, '/dev/null', constants.O_WRONLY, 0);
		});
	} finally {
		closeSync(input);
	}
}
