import type {OutputLog} from './output/output-log.js';

/** What programs say when a sandbox has stopped them; in lower case. */
const COMPLAINTS = [
	'operation not permitted',
	'permission denied',
	'read-only file system',
	'seccomp',
	'sandbox',
	'landlock',
	'failed to write file',
];
/** 128 + SIGSYS: the system call filter ended it. */
const BAD_SYSTEM_CALL = 159;

/** How long the last words of a sandboxed process are waited for before it is judged. */
export const DENIAL_OUTPUT_WAIT_MS = 20;

/** Whether a sandboxed process seems to have failed because of its sandbox: a guess by what it said, as the peers make it. */
export function looksDenied(exitCode: number, log: OutputLog): boolean {
	if (exitCode === 0) return false;
	if (exitCode === BAD_SYSTEM_CALL) return true;
	const {chunks} = log.read(0);
	const streams = new Set(chunks.map(({stream}) => stream));
	const texts = [
		textOf(chunks),
		...[...streams].map(stream => textOf(chunks.filter(chunk => chunk.stream === stream))),
	];
	return texts.some(text => COMPLAINTS.some(complaint => text.includes(complaint)));
}

function textOf(chunks: readonly {readonly bytes: Uint8Array}[]): string {
	return Buffer.concat(chunks.map(({bytes}) => bytes))
		.toString()
		.toLowerCase();
}
