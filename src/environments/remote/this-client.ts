import {readlinkSync} from 'node:fs';
import {hostname, userInfo} from 'node:os';

/** Our standard input, as a link to what it is. */
const STDIN_LINK = '/proc/self/fd/0';
const DEVICES = '/dev/';

/** This program for other people: `alice@desk`, with the terminal it runs on (`alice@desk pts/3`). */
export function describeThisClient(): string {
	return [`${userName()}@${hostname()}`, terminalName()].filter(Boolean).join(' ');
}

function userName(): string {
	try {
		return userInfo().username;
	} catch {
		// A user without an entry in the list of users.
		return `user ${process.geteuid?.() ?? ''}`.trim();
	}
}

function terminalName(): string | undefined {
	try {
		const name = readlinkSync(STDIN_LINK);
		return /^\/dev\/(?:pts\/|tty)/.test(name) ? name.slice(DEVICES.length) : undefined;
	} catch {
		return undefined;
	}
}
