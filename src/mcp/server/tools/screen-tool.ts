import {headerField, headerLine} from '../answers/header-line.js';
import {describeCursor, screenFacts, screenLines} from '../answers/screen-answer.js';
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
		const screen = await process.screen();
		const {rows, cols, title, alternate} = screen;
		const header = headerLine([
			headerField(process.machine.name),
			headerField(process.id),
			`${cols}x${rows}`,
			describeCursor(screen),
			alternate ? 'full screen' : undefined,
			title === '' ? undefined : headerField(title),
		]);
		const facts = {machine: process.machine.name, id: process.id, ...screenFacts(screen)};
		return textAnswer(header, facts, ...screenLines(screen));
	},
});
