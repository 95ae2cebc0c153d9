import {describeProcessWait} from '../../../client/process/process-wait-words.js';
import type {ListedProcess} from '../../../client/process/shared-process.js';
import {hasClosed, isLiving} from '../../../environments/processes/find-process.js';
import {COMMAND_CHARACTERS, formatElapsed, headerField, plainLine, plainName} from '../answers/header-line.js';
import {groupDigits} from '../answers/output-excerpt.js';
import {type AnswerFacts, textAnswer} from '../calls/tool-call.js';
import type {NamedMachine} from '../machines/named-machine.js';
import {type KnownProcesses, listOnMachine} from '../processes/known-processes.js';
import {isLoss} from '../processes/lost-machine.js';
import type {SessionProcess} from '../processes/session-process.js';
import {defineTool} from './tool.js';

/** Lines of one machine; the latest processes. */
const MAX_LISTED = 100;

export const PS_TOOL = defineTool({
	name: 'ps',
	description: 'List machines and processes, those of other sessions too; all: ended ones as well.',
	groups: ['exec', 'jobs'],
	isReadOnly: true,
	parameters: {on: {type: 'string'}, all: {type: 'boolean'}},
	async run({on, all = false}, {machines, processes}) {
		const asked = on === undefined ? machines.all : machines.select(on);
		const described = await Promise.all(asked.map(machine => describeMachine(machine, processes, all)));
		const [header = '', ...lines] = described.flatMap(({lines: own}) => own);
		return textAnswer(header, {machines: described.map(({facts}) => facts)}, ...lines);
	},
});

interface Described {
	readonly lines: readonly string[];
	readonly facts: AnswerFacts;
}

async function describeMachine(machine: NamedMachine, processes: KnownProcesses, all: boolean): Promise<Described> {
	const name = headerField(machine.name);
	try {
		const listed = (await listOnMachine(machine)).filter(process => all || !isOver(process));
		const {os, shell, cwd, keepsProcesses, hasConsole} = await machine.facts();
		const known = [os ?? '', shell.name, cwd].filter(Boolean).map(headerField).join(', ');
		const latest = listed.sort((one, other) => other.startedAtMs - one.startedAtMs);
		const shown = latest.slice(0, MAX_LISTED).map(process => ({id: processes.idFor(machine, process), process}));
		const held = processes.heldOn(machine).filter(process => all || !process.isOver);
		const lines = shown.map(({id, process}) => describeListed(id, process));
		if (latest.length > MAX_LISTED) lines.push(`… ${latest.length - MAX_LISTED} older ones`);
		lines.push(...held.map(describeHeld));
		const note = keepsProcesses ? '' : '; keeps no processes beyond this session';
		const page = hasConsole ? ` · web console: ${consoleOf(machine)}` : '';
		return {
			lines: [`[${name} · ${known} · ${lines.length} processes${note}${page}]`, ...lines],
			facts: {
				machine: machine.name,
				state: 'reachable',
				processes: [...shown.map(({id, process}) => listedFacts(id, process)), ...held.map(heldFacts)],
				omitted: latest.length - shown.length,
			},
		};
	} catch (error) {
		if (!isLoss(error)) throw error;
		return {
			lines: [`[${name} · lost · ${headerField(error.message)}]`],
			facts: {machine: machine.name, state: 'lost', error: error.message},
		};
	}
}

/** The page for people, without a secret: a browser has to be logged in. */
function consoleOf({environment}: NamedMachine): string {
	const {id} = environment;
	return /^wss?:/.test(id)
		? `${headerField(id.replace(/^ws/, 'http').replace(/\/$/, ''))}/console/`
		: 'at /console/ of its server';
}

function isOver(process: ListedProcess): boolean {
	return hasClosed(process) || !isLiving(process);
}

function describeListed(id: string, process: ListedProcess): string {
	const {state, exitCode, ageMs, outputBytes, waitingFor, driver, argv} = process;
	const end = exitCode === null || exitCode === undefined ? state : `exit ${exitCode}`;
	return [
		plainName(id),
		isLiving(process) ? 'running' : headerField(end),
		formatElapsed(ageMs),
		`${groupDigits(outputBytes)} bytes`,
		waitingFor && `waits for ${describeProcessWait(waitingFor)}`,
		driver && `driven by ${headerField(driver)}`,
		plainLine(commandOf(argv), COMMAND_CHARACTERS),
	]
		.filter(Boolean)
		.join(' · ');
}

function listedFacts(id: string, process: ListedProcess): AnswerFacts {
	const {exitCode, ageMs, outputBytes, waitingFor, driver, argv} = process;
	return {
		id,
		state: isLiving(process) ? 'running' : process.state === 'lost' ? 'lost' : 'exited',
		...(typeof exitCode === 'number' && {exit_code: exitCode}),
		...(waitingFor && {waiting_for: waitingFor}),
		...(driver && {driver}),
		age_s: Math.round(ageMs / 1000),
		bytes: outputBytes,
		command: commandOf(argv).slice(0, COMMAND_CHARACTERS),
	};
}

function describeHeld({id, isOver: isEnded, elapsedMs}: SessionProcess): string {
	return `${id} ${isEnded ? 'ended' : 'running'} ${formatElapsed(elapsedMs)}`;
}

function heldFacts({id, isOver: isEnded, elapsedMs}: SessionProcess): AnswerFacts {
	return {id, state: isEnded ? 'exited' : 'running', age_s: Math.round(elapsedMs / 1000)};
}

/** The command line itself, without the shell that runs it. */
function commandOf(argv: readonly string[]): string {
	return argv.length === 3 && argv[1] === '-c' ? argv[2]! : argv.join(' ');
}
