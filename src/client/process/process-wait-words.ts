import type {ProcessWait} from '../../protocol/methods/sharing-params.js';

/** Each wait as it follows "waits for". */
const WORDS: Readonly<Record<ProcessWait, string>> = {
	input: 'input',
	password: 'a password',
	disk: 'the disk of the server',
	limit: 'room for its output on disk',
	reader: 'a client that does not read',
};

/** Words for a wait, as they follow "waits for". A newer server may name something unknown here. */
export function describeProcessWait(wait: ProcessWait): string {
	return WORDS[wait] ?? wait;
}

/** Whether somebody has to type something. */
export function isWaitingForInput({waitingFor}: {readonly waitingFor?: ProcessWait | null | undefined}): boolean {
	return waitingFor === 'input' || waitingFor === 'password';
}
