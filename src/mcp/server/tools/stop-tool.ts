import {COMMAND_CHARACTERS, headerField, headerLine, plainLine} from '../answers/header-line.js';
import {textAnswer} from '../calls/tool-call.js';
import {defineTool, PROCESS_RESULTS} from './tool.js';
import {toMs} from './wait-parameters.js';

const DEFAULT_GRACE_MS = 10_000;
/** Longest time between asking and killing, in seconds. */
const MAX_GRACE_S = 600;

export const STOP_TOOL = defineTool({
	name: 'stop',
	description: 'End a process and its children: SIGTERM, then SIGKILL after grace_s.',
	groups: ['exec', 'jobs'],
	mayWait: true,
	results: PROCESS_RESULTS,
	parameters: {
		id: {type: 'string', isRequired: true},
		signal: {type: 'string', about: 'such as INT'},
		grace_s: {type: 'number', min: 0, max: MAX_GRACE_S},
	},
	async run({id, signal, grace_s}, {processes}) {
		const process = await processes.require(id);
		const name = signal === undefined ? undefined : readSignal(signal);
		const {wasOver, exitCode, survivors} = await process.stop(name, toMs(grace_s) ?? DEFAULT_GRACE_MS);
		const end = exitCode === undefined ? 'end not known' : `exit ${exitCode}`;
		const header = headerLine([
			wasOver ? `had ended: ${end}` : `ended: ${end}`,
			headerField(process.machine.name),
			headerField(process.id),
		]);
		const facts = {
			machine: process.machine.name,
			id: process.id,
			was_over: wasOver,
			...(exitCode !== undefined && {state: 'exited', exit_code: exitCode}),
			survivors,
		};
		if (survivors.length === 0) return textAnswer(header, facts);
		const lines = survivors.map(({pid, command}) => `${pid} ${plainLine(command, COMMAND_CHARACTERS)}`);
		return {...textAnswer(header, facts, 'still alive:', ...lines), isError: true};
	},
});

/** `INT` for `int` and `SIGINT`. */
function readSignal(text: string): string {
	const name = text.toUpperCase().replace(/^SIG/, '');
	if (!/^[A-Z][A-Z0-9+-]*$/.test(name))
		throw new TypeError(`signal: expected a name such as INT, not ${JSON.stringify(text)}`);
	return name;
}
