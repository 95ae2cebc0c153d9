import {answerAfterWait, type WaitPlan} from './answer-after-wait.js';
import {KEY_HINT, toKeyBytes} from './terminal-keys.js';
import {answerSize, defineTool, PROCESS_RESULTS, type ToolContext} from './tool.js';
import {MAX_CHARS, readUntil, toMs, UNTIL, WAIT_S} from './wait-parameters.js';

/** Wait of a model that types and says nothing about waiting: for the next prompt, and not for long. */
const DEFAULT_WAIT_MS = 10_000;
/** Output that has paused for so long is the answer to what was typed, unless the model says how long it waits. */
const PAUSE_MS = 1500;

export const SEND_TOOL = defineTool({
	name: 'send',
	description: 'Type into a process: text, then keys, then eof; waits for the next prompt, until, or wait_s.',
	groups: ['exec'],
	mayWait: true,
	results: PROCESS_RESULTS,
	parameters: {
		id: {type: 'string', isRequired: true},
		text: {type: 'string'},
		keys: {type: 'strings', about: KEY_HINT},
		eof: {type: 'boolean'},
		until: UNTIL,
		wait_s: WAIT_S,
		max_chars: MAX_CHARS,
	},
	async run(args, context, call) {
		const {id, text = '', keys = [], eof = false} = args;
		const typed = new TextEncoder().encode(text);
		const pressed = toKeyBytes(keys);
		if (typed.length === 0 && pressed.length === 0 && !eof)
			throw new TypeError('nothing to send: give text, keys or eof');
		const process = await context.processes.require(id);
		if (typed.length + pressed.length > 0) await process.write(joinBoth(typed, pressed));
		if (eof) await process.closeInput();
		return answerAfterWait(process, planOf(args, context), call);
	},
});

interface SendArguments {
	readonly until: Parameters<typeof readUntil>[0];
	readonly wait_s: number | undefined;
	readonly max_chars: number | undefined;
}

function planOf({until, wait_s, max_chars}: SendArguments, context: ToolContext): WaitPlan {
	return {
		until: readUntil(until, {input: 'any', ...(wait_s === undefined ? {silenceMs: PAUSE_MS} : {isPatient: true})}),
		waitMs: toMs(wait_s) ?? (until === undefined ? DEFAULT_WAIT_MS : undefined),
		maxChars: answerSize(max_chars, context),
		isOwn: false,
		// The model that types sees to the next prompt, too.
		mayAsk: false,
	};
}

/** In one piece, so that nothing comes in between. */
function joinBoth(one: Uint8Array, other: Uint8Array): Uint8Array {
	const joined = new Uint8Array(one.length + other.length);
	joined.set(one);
	joined.set(other, one.length);
	return joined;
}
