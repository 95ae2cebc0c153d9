import {headerField, headerLine} from '../answers/header-line.js';
import {textAnswer} from '../calls/tool-call.js';
import {defineTool} from './tool.js';

export const PORT_TOOL = defineTool({
	name: 'port',
	description: 'Make a TCP port of a machine reachable from here; answers a URL.',
	groups: ['ports'],
	parameters: {
		port: {type: 'integer', min: 1, max: 65_535, isRequired: true},
		on: {type: 'string'},
	},
	async run({port, on}, {machines, ports}) {
		const machine = on === undefined ? machines.default : machines.require(on);
		const local = await ports.forward(machine, port);
		const url = `http://127.0.0.1:${local}`;
		return textAnswer(headerLine([`port ${port}`, headerField(machine.name)]), {machine: machine.name, port, url}, url);
	},
});
