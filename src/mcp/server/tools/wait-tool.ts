import {answerAfterWait, type WaitPlan} from './answer-after-wait.js';
import {answerSize, defineTool, PROCESS_RESULTS, type ToolContext} from './tool.js';
import {asksForInput, MAX_CHARS, readUntil, toMs, UNTIL, WAIT_S} from './wait-parameters.js';

export const WAIT_TOOL = defineTool({
	name: 'wait',
	description: 'Wait for a process: exit, or the first of until. Answers with new output only.',
	groups: ['exec', 'jobs'],
	isReadOnly: true,
	mayWait: true,
	results: PROCESS_RESULTS,
	parameters: {
		id: {type: 'string', isRequired: true},
		until: UNTIL,
		wait_s: WAIT_S,
		max_chars: MAX_CHARS,
	},
	run: async (args, context, call) =>
		answerAfterWait(await context.processes.require(args.id), planOf(args, context), call),
	resume: (args, process, context, call) => answerAfterWait(process, planOf(args, context), call),
});

interface WaitArguments {
	readonly until: Parameters<typeof readUntil>[0];
	readonly wait_s: number | undefined;
	readonly max_chars: number | undefined;
}

function planOf({until, wait_s, max_chars}: WaitArguments, context: ToolContext): WaitPlan {
	return {
		until: readUntil(until, {input: 'sure'}),
		waitMs: toMs(wait_s),
		maxChars: answerSize(max_chars, context),
		isOwn: false,
		mayAsk: !asksForInput(until),
	};
}
