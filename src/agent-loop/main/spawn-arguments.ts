import {readFields} from '../../agent-tools/tool-arguments.js';
import {ToolFailure} from '../../agent-tools/tool-failures.js';
import {DEFAULT_CONCURRENCY, DEFAULT_MAX_RUNTIME_MS} from '../../jobs/job-description.js';

/** Workers of one job at most, whatever is asked for. */
export const MAX_WORKERS = 64;
/** Longest time limit, upstream's: seconds in a signed integer of 64 bits. */
const MAX_RUNTIME_SECONDS = 2n ** 63n - 1n;
const SECOND_MS = 1000;

/** A job over the rows of a CSV file, as a model asks for it. */
export interface CsvJobRequest {
	/** Relative to the directory of the agent. */
	readonly csvPath: string;
	readonly instruction: string;
	readonly idColumn: string | undefined;
	readonly outputCsvPath: string | undefined;
	readonly schema: Readonly<Record<string, unknown>> | undefined;
	readonly maxConcurrency: number;
	readonly maxRuntimeMs: number;
}

/** Reads the arguments of `spawn_agents_on_csv`. Throws a `ToolFailure` with upstream's text. */
export function parseSpawnArguments(args: string, maxWorkers: number): CsvJobRequest {
	const read = readFields(args, 'SpawnAgentsOnCsvArgs', {
		csv_path: {type: 'string', presence: 'required'},
		instruction: {type: 'string', presence: 'required'},
		id_column: {type: 'string', presence: 'nullable'},
		output_csv_path: {type: 'string', presence: 'nullable'},
		output_schema: {type: 'json', presence: 'nullable'},
		max_concurrency: {type: 'usize', presence: 'nullable'},
		max_workers: {type: 'usize', presence: 'nullable'},
		max_runtime_seconds: {type: 'u64', presence: 'nullable'},
	});
	const instruction = read['instruction'] as string;
	if (instruction.trim() === '') throw new ToolFailure('instruction must be non-empty');
	const asked = (read['max_concurrency'] ?? read['max_workers'] ?? DEFAULT_CONCURRENCY) as number;
	return {
		csvPath: read['csv_path'] as string,
		instruction,
		idColumn: read['id_column'] as string | undefined,
		outputCsvPath: read['output_csv_path'] as string | undefined,
		schema: readSchema(read['output_schema']),
		maxConcurrency: Math.min(Math.max(asked, 1), MAX_WORKERS, maxWorkers),
		maxRuntimeMs: readRuntime(read['max_runtime_seconds'] as number | undefined),
	};
}

function readSchema(schema: unknown): Readonly<Record<string, unknown>> | undefined {
	if (schema === undefined || schema === null) return undefined;
	if (typeof schema === 'object' && !Array.isArray(schema)) return schema as Record<string, unknown>;
	throw new ToolFailure('output_schema must be a JSON object');
}

function readRuntime(seconds: number | undefined): number {
	if (seconds === undefined) return DEFAULT_MAX_RUNTIME_MS;
	if (seconds < 1) throw new ToolFailure('max_runtime_seconds must be >= 1');
	if (BigInt(seconds) > MAX_RUNTIME_SECONDS)
		throw new ToolFailure(`max_runtime_seconds must be <= ${MAX_RUNTIME_SECONDS}`);
	return seconds * SECOND_MS;
}
