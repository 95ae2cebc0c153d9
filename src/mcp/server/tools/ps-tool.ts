import type {ListedProcess} from '../../../client/process/shared-process.js';
import {hasClosed, isLiving} from '../../../environments/processes/find-process.js';
import {formatElapsed, headerField} from '../answers/header-line.js';
import {groupDigits} from '../answers/output-excerpt.js';
import {textAnswer} from '../calls/tool-call.js';
import type {NamedMachine} from '../machines/named-machine.js';
import {type KnownProcesses, listOnMachine} from '../processes/known-processes.js';
import {isLoss} from '../processes/lost-machine.js';
import {defineTool} from './tool.js';

/** Lines of one machine; the latest processes. */
const MAX_LISTED = 100;
const COMMAND_CHARACTERS = 80;

export const PS_TOOL = defineTool({
	name: 'ps',
	description: 'List machines and processes, those of other sessions too; all: ended ones as well.',
	groups: ['exec', 'jobs'],
	isReadOnly: true,
	parameters: {on: {type: 'string'}, all: {type: 'boolean'}},
	async run({on, all = false}, {machines, processes}) {
		const asked = on === undefined ? machines.all : machines.select(on);
		const lists = await Promise.all(asked.map(machine => describeMachine(machine, processes, all)));
		return textAnswer(...lists.flat());
	},
});

async function describeMachine(machine: NamedMachine, processes: KnownProcesses, all: boolean): Promise<string[]> {
	const name = headerField(machine.name);
	try {
		const listed = (await listOnMachine(machine)).filter(process => all || !isOver(process));
		const {os, shell, cwd, keepsProcesses, hasConsole} = await machine.facts();
		const facts = [os, shell.name, headerField(cwd)].filter(Boolean).join(', ');
		const latest = listed.sort((one, other) => other.startedAtMs - one.startedAtMs);
		const lines = latest
			.slice(0, MAX_LISTED)
			.map(process => describeListed(processes.idFor(machine, process), process));
		if (latest.length > MAX_LISTED) lines.push(`… ${latest.length - MAX_LISTED} older ones`);
		const held = processes.heldOn(machine).filter(process => all || !process.isOver);
		lines.push(
			...held.map(
				process => `${process.id} ${process.isOver ? 'ended' : 'running'} ${formatElapsed(process.elapsedMs)}`,
			),
		);
		const note = keepsProcesses ? '' : '; keeps no processes beyond this session';
		const page = hasConsole ? ` · web console: ${consoleOf(machine)}` : '';
		return [`[${name} · ${facts} · ${lines.length} processes${note}${page}]`, ...lines];
	} catch (error) {
		if (!isLoss(error)) throw error;
		return [`[${name} · lost · ${headerField(error.message)}]`];
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
	const command = headerField(commandOf(argv));
	const end = exitCode === null || exitCode === undefined ? state : `exit ${exitCode}`;
	return [
		id,
		isLiving(process) ? 'running' : end,
		formatElapsed(ageMs),
		`${groupDigits(outputBytes)} bytes`,
		waitingFor && `waits for ${waitingFor === 'password' ? 'a password' : 'input'}`,
		driver && `driven by ${headerField(driver)}`,
		command.length > COMMAND_CHARACTERS ? `${command.slice(0, COMMAND_CHARACTERS)}…` : command,
	]
		.filter(Boolean)
		.join(' · ');
}

/** The command line itself, without the shell that runs it. */
function commandOf(argv: readonly string[]): string {
	return argv.length === 3 && argv[1] === '-c' ? argv[2]! : argv.join(' ');
}
