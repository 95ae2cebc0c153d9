import {readFields} from '../../agent-tools/tool-arguments.js';
import {ToolFailure} from '../../agent-tools/tool-failures.js';
import type {ItemAttempt} from '../../jobs/item-worker.js';
import type {FunctionTool} from '../model/response-items.js';
import type {AgentTool, ToolResult} from '../turn/agent-tool.js';

const NOT_AN_OBJECT = 'result must be a JSON object';

const REPORT_TOOL: FunctionTool = {
	type: 'function',
	name: 'report_agent_job_result',
	description:
		'Hands in the result of your item. Call it once, when the work is done; the first accepted result is final.',
	strict: false,
	parameters: {
		type: 'object',
		properties: {
			job_id: {type: 'string', description: 'Id of the job, from the task.'},
			item_id: {type: 'string', description: 'Id of your item, from the task.'},
			result: {type: 'object', description: 'The result; it has to match the schema of the task.'},
			stop: {type: 'boolean', description: 'Whether the whole job ends with this result; false if left out.'},
		},
		required: ['job_id', 'item_id', 'result'],
		additionalProperties: false,
	},
};

/** The tool by which a worker hands in its result; a result for another item is never accepted. */
export function createReportTool(attempt: Pick<ItemAttempt, 'jobId' | 'itemId' | 'report'>): AgentTool {
	return {
		tool: REPORT_TOOL,
		call: async args => {
			try {
				return await report(attempt, args);
			} catch (error) {
				if (!(error instanceof ToolFailure)) throw error;
				return {text: error.message};
			}
		},
	};
}

async function report(attempt: Pick<ItemAttempt, 'jobId' | 'itemId' | 'report'>, args: string): Promise<ToolResult> {
	const read = readFields(args, 'ReportAgentJobResultArgs', {
		job_id: {type: 'string', presence: 'required'},
		item_id: {type: 'string', presence: 'required'},
		result: {type: 'json', presence: 'required'},
		stop: {type: 'boolean', presence: 'nullable'},
	});
	const {job_id: jobId, item_id: itemId, result, stop} = read;
	if (typeof result !== 'object' || result === null || Array.isArray(result)) throw new ToolFailure(NOT_AN_OBJECT);
	if (jobId !== attempt.jobId || itemId !== attempt.itemId) return {text: answerText(false)};
	const answer = await attempt.report(result, {stop: stop === true});
	if (answer.accepted) return {text: answerText(true), isDone: true};
	if (answer.reason === 'not_an_object') throw new ToolFailure(NOT_AN_OBJECT);
	// The model can mend a result that violates the schema, if it is told how.
	return {text: answerText(false, answer.reason === 'schema' ? `schema: ${answer.detail ?? 'not valid'}` : undefined)};
}

function answerText(accepted: boolean, reason?: string): string {
	return JSON.stringify({accepted, ...(reason !== undefined && {reason})});
}
