import {RpcError} from '../../protocol/wire/error-codes.js';
import type {Caller} from '../session/session-client.js';

/** Variable of a process with a limit on a server that does not end what an exited process has left behind. */
export const TAG_VARIABLE = 'LONGARM_PROCESS_ID';
/** Longest wait for an answer about the program that ends them; stock servers do nothing else meanwhile. */
const WAIT_MS = 500;
const MAX_WAITS = 4;

/**
 * Kills every process with the variable `$1`, again until none is found. Linux only: elsewhere none is found. Entries are compared
 * whole, because the id of one process may be the beginning of that of another.
 */
const SCRIPT = `for round in 1 2 3 4 5 6 7 8
do found=
for file in $(grep -lszxF -e "$1" /proc/[0-9]*/environ)
do pid=\${file#/proc/}; kill -KILL "\${pid%/environ}" && found=1
done
[ "$found" ] || exit 0
done 2>/dev/null`;

/** Ends all descendants of a process that has exited, by the variable that they have inherited. Settles when that is done. */
export async function endTagged(session: Caller, tag: string): Promise<void> {
	const processId = globalThis.crypto.randomUUID();
	try {
		await session.repeat('process/start', {
			processId,
			argv: ['/bin/sh', '-c', SCRIPT, 'sh', `${TAG_VARIABLE}=${tag}`],
			cwd: 'file:///',
			env: {PATH: '/usr/bin:/bin'},
			tty: false,
		});
		for (let wait = 0; wait < MAX_WAITS; wait++) {
			if ((await session.repeat('process/read', {processId, waitMs: WAIT_MS})).exited) return;
		}
	} catch (error) {
		// There is no such shell, or the server is too old.
		if (!(error instanceof RpcError)) throw error;
	}
}
