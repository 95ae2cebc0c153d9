import {ToolFailure} from '../../agent-tools/tool-failures.js';
import type {JobSummary} from '../../jobs/output/job-summary.js';
import type {FunctionTool} from '../model/response-items.js';
import type {AgentTool} from '../turn/agent-tool.js';
import {type CsvJobRequest, MAX_WORKERS, parseSpawnArguments} from './spawn-arguments.js';

/** Runs a job to its end; rejects with a `ToolFailure` if it cannot be begun. */
export type RunCsvJob = (request: CsvJobRequest, signal: AbortSignal) => Promise<JobSummary>;

const SPAWN_TOOL: FunctionTool = {
	type: 'function',
	name: 'spawn_agents_on_csv',
	description:
		'Runs one worker agent for each row of a CSV file, many at a time, and waits until all rows are done. Each worker ' +
		'gets the instruction with the values of its row and reports one JSON object. All rows with their results are ' +
		'written to another CSV file; the answer counts them and names its path and the first failures.',
	strict: false,
	parameters: {
		type: 'object',
		properties: {
			csv_path: {type: 'string', description: 'CSV file with a header; relative paths start at the working directory.'},
			instruction: {
				type: 'string',
				description: 'Task of a worker. {column} stands for the value of its row; write {{ and }} for braces.',
			},
			id_column: {type: 'string', description: 'Column with the ids of the rows; numbers of rows if left out.'},
			output_csv_path: {type: 'string', description: 'File for the results; one beside the input if left out.'},
			output_schema: {type: 'object', description: 'JSON Schema that every result has to match.'},
			max_concurrency: {
				type: 'number',
				description: `Workers at a time; 16 if left out, ${MAX_WORKERS} at most.`,
			},
			max_workers: {type: 'number', description: 'The same as max_concurrency, which comes first.'},
			max_runtime_seconds: {type: 'number', description: 'Time limit of one worker; 1800 if left out.'},
		},
		required: ['csv_path', 'instruction'],
		additionalProperties: false,
	},
};

/** `spawn_agents_on_csv` with upstream's parameters, result and error texts; answers when the job is over. */
export function createSpawnTool(run: RunCsvJob, maxWorkers = MAX_WORKERS): AgentTool {
	return {
		tool: SPAWN_TOOL,
		call: async (args, {signal}) => {
			try {
				return {text: formatSummary(await run(parseSpawnArguments(args, maxWorkers), signal))};
			} catch (error) {
				if (!(error instanceof ToolFailure)) throw error;
				return {text: error.message};
			}
		},
	};
}

/** Upstream's members in their order. */
function formatSummary(summary: JobSummary): string {
	const {job_id, status, output_csv_path, total_items, completed_items, failed_items} = summary;
	const {job_error, failed_item_errors} = summary;
	return JSON.stringify({
		job_id,
		status,
		output_csv_path,
		total_items,
		completed_items,
		failed_items,
		job_error,
		failed_item_errors,
	});
}
