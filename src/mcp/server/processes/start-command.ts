import type {ProcessHandle} from '../../../client/process/process-handle.js';
import {startOn, toStartParams} from '../../../client/run/command.js';
import type {SandboxPreset} from '../../../client/run/sandbox-policy.js';
import {createShellArgv} from '../../../client/run/shell-command.js';
import {lackError} from '../machines/machine-lack.js';
import type {NamedMachine} from '../machines/named-machine.js';
import {KeptProcess} from './kept-process.js';
import type {ProcessIdPair} from './process-ids.js';
import {type ProcessRights, requireRight} from './process-rights.js';
import {SessionProcess} from './session-process.js';
import type {TrackedProcess} from './tracked-process.js';

/** Size of a terminal that a model reads. */
const TERMINAL_SIZE = {rows: 40, cols: 120};
/**
 * Time that this program stays attached to a new process: commands that are over by then are told by an event instead of a
 * question. Later, output is not sent here at all.
 */
const ATTACHED_MS = 1000;
const MARK = {by: 'mcp'};
const NO_END_OF_INPUT =
	'input could never end there; put it into the command (printf … | …, or a file), or use tty and send';

/** A command to start. */
export interface CommandRequest {
	readonly command: string;
	readonly cwd: string | undefined;
	/** Written to its input, which ends then. */
	readonly stdin: string | undefined;
	readonly isTerminal: boolean;
	readonly limitMs: number | undefined;
	readonly name: string | undefined;
	/** It survives a crash of its server. */
	readonly isDurable: boolean;
	/** Narrower than the limits of the machine. */
	readonly sandbox?: SandboxPreset | undefined;
}

/** Starts a command by the shell of a machine; it belongs to the machine from then on. */
export async function startCommand(
	machine: NamedMachine,
	request: CommandRequest,
	{id, processId}: ProcessIdPair,
	rights: ProcessRights,
): Promise<TrackedProcess> {
	requireRight(rights, 'mayStart');
	const facts = await machine.facts();
	const {isTerminal, stdin, limitMs, name, isDurable} = request;
	if (isDurable && !facts.hasDurable) throw lackError(machine, 'keep', 'a process cannot survive its server there');
	if (stdin !== undefined && !facts.closesInput) throw lackError(machine, 'stdin', NO_END_OF_INPUT);
	const cwd = request.cwd === undefined ? facts.cwd : await machine.resolvePath(request.cwd);
	const labels = {...MARK, ...(await machine.processLabels())};
	const params = await toStartParams(machine.environment, createShellArgv(facts.shell, request.command, false), {
		processId,
		cwd,
		sandbox: await machine.policyFor(request.sandbox, cwd),
		tty: isTerminal && (facts.keepsProcesses ? TERMINAL_SIZE : true),
		stdin: stdin !== undefined,
		...(facts.keepsProcesses && {detach: true, labels, ...(name !== undefined && {name})}),
		...(isDurable && {durable: true}),
	});
	const {process: handle} = await startOn(machine.environment, params, {timeout: limitMs});
	if (stdin !== undefined) void feed(handle, stdin);
	if (!facts.keepsProcesses) return new SessionProcess(machine, handle, {id, isTerminal, rights});
	const process = new KeptProcess(machine, {id, processId: handle.processId, isTerminal, ageMs: 0, rights});
	handle.exited.then(
		exit => process.exited(exit),
		() => {},
	);
	// The seat at a terminal is free for people at once.
	void leave(handle, isTerminal ? 0 : ATTACHED_MS);
	return process;
}

/** Detaches unless the process is over soon; input has to be written first, by whoever does. */
async function leave(handle: ProcessHandle, ms: number): Promise<void> {
	const timer = setTimeout(() => void detach(handle), ms);
	try {
		await handle.closed;
	} catch {}
	clearTimeout(timer);
}

async function detach(handle: ProcessHandle): Promise<void> {
	try {
		await feeding.get(handle);
		if (!handle.isOver) await handle.detach();
	} catch {
		// A connection that is lost has no attachments.
	}
}

const feeding = new WeakMap<ProcessHandle, Promise<void>>();

async function feed(handle: ProcessHandle, input: string): Promise<void> {
	const work = writeAll(handle, input).catch(() => {});
	feeding.set(handle, work);
	await work;
}

async function writeAll(handle: ProcessHandle, input: string): Promise<void> {
	if (input !== '') await handle.write(input);
	await handle.closeStdin();
}
