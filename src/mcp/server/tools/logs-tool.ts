import {describeSize, headerField, headerLine} from '../answers/header-line.js';
import {groupDigits} from '../answers/output-excerpt.js';
import {sizeFacts} from '../answers/process-facts.js';
import {textAnswer} from '../calls/tool-call.js';
import {answerSize, defineTool} from './tool.js';
import {MAX_CHARS} from './wait-parameters.js';

export const LOGS_TOOL = defineTool({
	name: 'logs',
	description:
		'Output of a process, also after its exit: the last tail lines, from a byte on, or lines that match grep.',
	groups: ['exec', 'jobs'],
	isReadOnly: true,
	parameters: {
		id: {type: 'string', isRequired: true},
		tail: {type: 'integer', min: 1},
		from: {type: 'integer', min: 0, about: 'byte'},
		grep: {type: 'string', about: 'regex'},
		max_chars: MAX_CHARS,
	},
	async run({id, tail, from, grep, max_chars}, context, {signal}) {
		if (tail !== undefined && from !== undefined) throw new TypeError('tail and from exclude each other');
		const process = await context.processes.require(id);
		const maxChars = answerSize(max_chars, context);
		const excerpt = await process.logs({tail, from, grep: readPattern(grep), maxChars, signal});
		const {endByte, leftOutBytes} = excerpt;
		const range = grep === undefined ? `up to byte ${groupDigits(endByte)}` : 'matching lines';
		const size =
			leftOutBytes > 0 && grep === undefined
				? describeSize(excerpt, `${headerField(process.id)} with from`)
				: `${groupDigits(excerpt.bytes)} bytes`;
		const header = headerLine([headerField(process.machine.name), headerField(process.id), size, range]);
		const facts = {machine: process.machine.name, id: process.id, ...sizeFacts(excerpt)};
		const end = grep === undefined ? {end_byte: endByte} : {};
		return textAnswer(header, {...facts, ...end}, excerpt.text.replace(/\n$/, ''));
	},
});

function readPattern(grep: string | undefined): string | undefined {
	if (grep === undefined) return undefined;
	try {
		return new RegExp(grep).source;
	} catch (cause) {
		throw new TypeError(`grep: ${(cause as Error).message}`, {cause});
	}
}
