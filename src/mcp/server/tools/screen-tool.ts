import {headerField, headerLine} from '../answers/header-line.js';
import {plainText} from '../answers/plain-text.js';
import {textAnswer} from '../calls/tool-call.js';
import {defineTool} from './tool.js';

export const SCREEN_TOOL = defineTool({
	name: 'screen',
	description: 'What a terminal shows now, as text, with the cursor.',
	groups: ['exec'],
	isReadOnly: true,
	parameters: {id: {type: 'string', isRequired: true}},
	async run({id}, {processes}) {
		const process = await processes.require(id);
		const {rows, cols, cursor, title, lines, alternate} = await process.screen();
		const header = headerLine([
			headerField(process.machine.name),
			process.id,
			`${cols}x${rows}`,
			`cursor line ${cursor.row + 1}, column ${cursor.col + 1}${cursor.isVisible ? '' : ' (hidden)'}`,
			alternate ? 'full screen' : undefined,
			title === '' ? undefined : headerField(title),
		]);
		const last = lines.findLastIndex(line => line.trim() !== '');
		return textAnswer(header, ...lines.slice(0, last + 1).map(line => plainText(line).trimEnd() || ' '));
	},
});
