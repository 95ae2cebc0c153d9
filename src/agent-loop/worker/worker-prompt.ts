import type {ItemAttempt} from '../../jobs/item-worker.js';

/** Programs on the other side know workers by these three texts: they are never changed. */
const FIRST_SENTENCE = 'You are processing one item for a generic agent job.';
const JOB_PREFIX = 'Job ID: ';
const ITEM_PREFIX = 'Item ID: ';

/** System text of a worker. */
export const WORKER_INSTRUCTIONS =
	'You are an agent that works on one item of a larger job, on one machine, without a person to ask. ' +
	'exec_command runs shell commands on that machine; write_stdin talks to commands that are still running. ' +
	'Your work counts only when report_agent_job_result has accepted its result.';

/** Message to a worker that stops without a result. */
export const REPORT_REMINDER =
	'The item has no result yet. Call report_agent_job_result now, with the result, or with an object that says why there is none.';

export interface PromptParts extends Pick<ItemAttempt, 'jobId' | 'itemId' | 'row'> {
	/** Instruction with the values of the row. */
	readonly instruction: string;
	readonly schema: Readonly<Record<string, unknown>> | undefined;
}

/** The one message that a worker is given. */
export function createWorkerPrompt({jobId, itemId, row, instruction, schema = {}}: PromptParts): string {
	return [
		FIRST_SENTENCE,
		`${JOB_PREFIX}${oneLine(jobId)}`,
		`${ITEM_PREFIX}${oneLine(itemId)}`,
		'',
		'Task:',
		instruction,
		'',
		'Row of the input, as JSON:',
		JSON.stringify(row, undefined, 2),
		'',
		'JSON Schema of the result ({} allows any object):',
		JSON.stringify(schema, undefined, 2),
		'',
		'When the task is done, call report_agent_job_result exactly once with these arguments:',
		`1. job_id: ${JSON.stringify(jobId)}`,
		`2. item_id: ${JSON.stringify(itemId)}`,
		'3. result: a JSON object with what you found, which matches the schema',
		'',
		'Set stop to true in that call only if the whole job has to end now: no further items are started then.',
		'When the call answers {"accepted":true}, you are finished: do nothing more.',
	].join('\n');
}

/** An id is whatever the input says, and a line break in it must not begin a line of the prompt. */
function oneLine(id: string): string {
	return id.replaceAll(/[\r\n\u2028\u2029]+/g, ' ');
}
