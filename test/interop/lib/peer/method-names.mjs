import {readFileSync} from 'node:fs';

/** First parts of the names of methods. */
const FAMILIES = [
	'process',
	'fs',
	'http',
	'environment',
	'environmentConfig',
	'capabilities',
	'capabilityRoots',
	'network',
];
const MIN_CHARACTERS = 3;
const MAX_CHARACTERS = 48;

/**
 * Lists texts in a program that may be names of methods. Texts in a program follow each other without a separator, so
 * that each beginning of a text is a candidate: ask the server which ones it knows.
 */
export function listCandidates(program) {
	const bytes = readFileSync(program);
	const names = new Set();
	for (const family of FAMILIES) {
		const start = Buffer.from(`${family}/`);
		for (let at = bytes.indexOf(start); at >= 0; at = bytes.indexOf(start, at + 1)) {
			const from = at + start.length;
			const [tail] = /^[A-Za-z0-9/]*/.exec(bytes.toString('latin1', from, from + MAX_CHARACTERS));
			for (let length = MIN_CHARACTERS; length <= tail.length; length++)
				names.add(`${family}/${tail.slice(0, length)}`);
		}
	}
	return [...names];
}
