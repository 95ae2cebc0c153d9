import {posix} from 'node:path';
import {headerField, headerLine} from '../answers/header-line.js';
import {groupDigits} from '../answers/output-excerpt.js';
import {textAnswer} from '../calls/tool-call.js';
import {defineTool} from './tool.js';

export const WRITE_TOOL = defineTool({
	name: 'write',
	description: 'Create or replace a file, with the directories above it.',
	groups: ['files'],
	parameters: {
		path: {type: 'string', isRequired: true, about: 'MACHINE:PATH'},
		content: {type: 'string', isRequired: true},
	},
	async run({path: given, content}, {machines}) {
		const {machine, path, files} = await machines.locate(given);
		const bytes = new TextEncoder().encode(content);
		await files.createDirectory(posix.dirname(path));
		await files.writeFile(path, bytes, {atomic: await files.supports('atomicWrite')});
		return textAnswer(
			headerLine(['written', headerField(machine.name), headerField(path), `${groupDigits(bytes.length)} bytes`]),
			{machine: machine.name, path, bytes: bytes.length},
		);
	},
});
