import {headerField, headerLine} from '../answers/header-line.js';
import {textAnswer} from '../calls/tool-call.js';
import {replaceText} from './replace-text.js';
import {defineTool} from './tool.js';

/** Largest file that is edited by replacing text. */
const MAX_EDITED_BYTES = 16 * 1024 * 1024;

export const EDIT_TOOL = defineTool({
	name: 'edit',
	description: 'Replace text in a file. old must be there exactly once, unless all.',
	groups: ['files'],
	parameters: {
		path: {type: 'string', isRequired: true, about: 'MACHINE:PATH'},
		old: {type: 'string', isRequired: true},
		new: {type: 'string', isRequired: true},
		all: {type: 'boolean'},
	},
	async run({path: given, old, new: replacement, all = false}, {machines}) {
		if (old === '') throw new TypeError('old is empty');
		if (old === replacement) throw new TypeError('old and new are equal');
		const {machine, path, files} = await machines.locate(given);
		const {size = 0} = await files.metadata(path);
		if (size > MAX_EDITED_BYTES) throw new Error(`${path} is too large to be edited; use exec`);
		const text = decodeExactly(await files.readFile(path), path);
		const {count, line, after} = replaceText(text, old, replacement);
		if (count === 0) throw new Error(`old is not in ${path}; read it again`);
		if (count > 1 && !all) throw new Error(`old is ${count} times in ${path}: give more of the text around it, or all`);
		if (after === text)
			throw new Error(`old and new differ in their line ends only, and those of ${path} are kept; use exec`);
		await files.writeFile(path, after, {atomic: await files.supports('atomicWrite')});
		const what = count === 1 ? `line ${line}` : `${count} places`;
		return textAnswer(headerLine(['edited', headerField(machine.name), headerField(path), what]), {
			machine: machine.name,
			path,
			replaced: count,
			line,
		});
	},
});

/** Bytes that are no text would be damaged. */
function decodeExactly(bytes: Uint8Array, path: string): string {
	try {
		return new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(bytes);
	} catch {
		throw new Error(`${path} is not UTF-8 text; use exec`);
	}
}
