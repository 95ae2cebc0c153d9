import {readPreset} from '../machines/machine-limits.js';
import type {CommandRequest} from '../processes/start-command.js';
import type {WaitUntil} from '../processes/tracked-process.js';
import {answerAfterWait, type WaitPlan} from './answer-after-wait.js';
import {answerSize, defineTool, PROCESS_RESULTS, type ToolContext} from './tool.js';
import {MAX_CHARS, toMs, WAIT_S} from './wait-parameters.js';

const SHELL_NOTE = 'lasts for this command only: give cwd, or put it before the next command';

export const EXEC_TOOL = defineTool({
	name: 'exec',
	description:
		'Run a shell command. Waits up to wait_s; if still running, it goes on and the answer has its id: call wait, do not poll. cd and export do not last: give cwd.',
	groups: ['exec'],
	mayWait: true,
	results: {id: 'string', ...PROCESS_RESULTS, waiting_for: 'string', omitted_bytes: 'integer'},
	parameters: {
		command: {type: 'string', isRequired: true},
		on: {type: 'string', about: 'machine, or several: a,b'},
		cwd: {type: 'string'},
		stdin: {type: 'string'},
		tty: {type: 'boolean', about: 'terminal, for interactive programs'},
		wait_s: WAIT_S,
		limit_s: {type: 'number', min: 0, about: 'kill after'},
		name: {type: 'string', about: 'id instead of p1'},
		keep: {type: 'boolean', about: 'survive a server crash'},
		sandbox: {type: 'string', about: 'read-only or workspace-write'},
		max_chars: MAX_CHARS,
	},
	async run(args, context, call) {
		const machines = context.machines.select(args.on);
		const request = toRequest(args);
		if (machines.length > 1) {
			const {execOnMany} = await import('./exec-on-many.js');
			return execOnMany(machines, request, {context, call, waitMs: toMs(args.wait_s), maxChars: sizeOf(args, context)});
		}
		const process = await context.processes.start(machines[0]!, request);
		return answerAfterWait(process, planOf(args, context), call);
	},
	resume: (args, process, context, call) => answerAfterWait(process, planOf(args, context), call),
});

interface ExecArguments {
	readonly command: string;
	readonly cwd: string | undefined;
	readonly stdin: string | undefined;
	readonly tty: boolean | undefined;
	readonly wait_s: number | undefined;
	readonly limit_s: number | undefined;
	readonly name: string | undefined;
	readonly keep: boolean | undefined;
	readonly sandbox: string | undefined;
	readonly max_chars: number | undefined;
}

function toRequest(args: ExecArguments): CommandRequest {
	const {command, cwd, stdin, tty = false, limit_s, name, keep = false} = args;
	const sandbox = readPreset(args.sandbox);
	if (command.trim() === '') throw new TypeError('argument command is empty');
	if (tty && stdin !== undefined) throw new TypeError('stdin is for pipes; with tty, type with send');
	return {command, cwd, stdin, isTerminal: tty, limitMs: toMs(limit_s), name, isDurable: keep, sandbox};
}

function planOf(args: ExecArguments, context: ToolContext): WaitPlan {
	// Without a terminal the input is empty, or ends by itself.
	const until: WaitUntil = args.tty ? {input: 'any'} : {};
	return {
		until,
		waitMs: toMs(args.wait_s),
		maxChars: sizeOf(args, context),
		isOwn: true,
		mayAsk: true,
		note: changesOnlyItsShell(args.command) ? SHELL_NOTE : undefined,
	};
}

/** Whether a command has an effect on nothing but the shell that runs it, which ends with it. */
function changesOnlyItsShell(command: string): boolean {
	const parts = command.split(/&&|\|\||[;\n]/).filter(part => part.trim() !== '');
	return parts.every(part => /^\s*(?:cd|pushd|popd|export|unset|alias|source|\.)(?:\s|$)/.test(part));
}

function sizeOf({max_chars}: ExecArguments, context: ToolContext): number {
	return answerSize(max_chars, context);
}
