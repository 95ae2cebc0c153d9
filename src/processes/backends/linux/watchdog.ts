import {closeSync, constants} from 'node:fs';
import type {Libc} from './libc.js';

const O_CLOEXEC = 0o2000000;

/**
 * Waits for the end of its input, which is the end of the server, however it came. Then it kills every process whose
 * tag begins with $1, until there is none: what is being started meanwhile inherits the tag. Zombies keep theirs until
 * somebody reaps them, which is not up to us.
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

/** Starts a program with the given redirections; its pid. */
export type Launch = (argv: readonly string[], redirect: (actions: Uint8Array) => void) => number;

/**
 * Sees to it that nothing with a tag that begins with `prefix` outlives this program, even if it is killed. It costs
 * nothing per child. Must be called before this program carries such a tag itself. Returns the watchdog's pid.
 */
export function startWatchdog(libc: Libc, prefix: string, launch: Launch): number {
	const pipe: [number, number] = [0, 0];
	if (libc.pipe2(pipe, O_CLOEXEC) !== 0) throw new Error(`no pipe for the watchdog: errno ${libc.errno()}`);
	// The other end is never closed by us: the kernel does it when we end.
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
