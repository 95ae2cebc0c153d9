import type {OutputLog} from './output/output-log.js';

/** Texts that programs print when a sandbox denied something; in lower case. */
const DENIAL_TEXTS = [
	'operation not permitted',
	'permission denied',
	'read-only file system',
	'seccomp',
	'sandbox',
	'landlock',
	'failed to write file',
];
/** 128 + SIGSYS: killed by the system call filter. */
const SIGSYS_EXIT_CODE = 159;

/** Longest wait for the last output of a sandboxed process before its exit is reported. */
export const MAX_DENIAL_OUTPUT_WAIT_MS = 20;

/** True when a sandboxed process seems to have failed because of its sandbox: upstream's heuristic over its output. */
export function looksDenied(exitCode: number, log: OutputLog): boolean {
	if (exitCode === 0) return false;
	if (exitCode === SIGSYS_EXIT_CODE) return true;
	const {chunks} = log.read(0);
	const streams = new Set(chunks.map(({stream}) => stream));
	const texts = [
		decodeLowerCase(chunks),
		...[...streams].map(stream => decodeLowerCase(chunks.filter(chunk => chunk.stream === stream))),
	];
	return texts.some(text => DENIAL_TEXTS.some(denial => text.includes(denial)));
}

function decodeLowerCase(chunks: readonly {readonly bytes: Uint8Array}[]): string {
	return Buffer.concat(chunks.map(({bytes}) => bytes))
		.toString()
		.toLowerCase();
}
