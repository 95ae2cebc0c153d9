import type {CommandDefinition, Example} from './definitions/definition.js';

const WIDTH = 100;
/** An example this long has its explanation on a line of its own. */
const LONGEST_BESIDE = 56;

/** What help says below the options: details, exit codes, examples. */
export function textBelowOptions({details = [], exitCodes, examples}: CommandDefinition): string {
	const codes = [['0', 'success'] as const, ...exitCodes].map(([code, meaning]) => `  ${code.padEnd(7)} ${meaning}`);
	return [
		...details.flatMap(paragraph => [...wrapped(paragraph), '']),
		'Exit codes:',
		...codes,
		'',
		'Examples:',
		...examples.flatMap(shown),
	].join('\n');
}

function shown({command, says}: Example): string[] {
	if (says === undefined) return [`  ${command}`];
	if (command.length > LONGEST_BESIDE) return [`  ${command}`, `      ${says}`];
	return [`  ${command.padEnd(LONGEST_BESIDE)} ${says}`];
}

function wrapped(paragraph: string): string[] {
	const lines: string[] = [''];
	for (const word of paragraph.split(' ')) {
		const line = lines.at(-1)!;
		if (line !== '' && line.length + 1 + word.length > WIDTH) lines.push(word);
		else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
	}
	return lines;
}
