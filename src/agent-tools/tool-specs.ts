import {
	DEFAULT_EXEC_YIELD_MS,
	DEFAULT_OUTPUT_TOKENS,
	DEFAULT_WRITE_YIELD_MS,
	MAX_YIELD_MS,
	MIN_POLL_MS,
	MIN_YIELD_MS,
} from './exec-limits.js';

const OUTPUT_TOKENS_SCHEMA: JsonSchema = {
	type: 'number',
	description: `Most output to show, in tokens; ${DEFAULT_OUTPUT_TOKENS} if left out. The middle of longer output is left out.`,
};

/** The part of JSON Schema that describes arguments of a tool. */
export interface JsonSchema {
	readonly type: string;
	readonly description?: string;
	readonly enum?: readonly string[];
	readonly properties?: Readonly<Record<string, JsonSchema>>;
	readonly required?: readonly string[];
	readonly additionalProperties?: boolean;
}

/** Tool description for a model. */
export interface ToolSpec {
	readonly name: 'exec_command' | 'write_stdin';
	readonly description: string;
	readonly inputSchema: JsonSchema;
	readonly outputSchema: JsonSchema;
}

export interface SpecOptions {
	readonly loginShells: boolean;
	/** The default environment first. */
	readonly environmentIds: readonly string[];
}

export function toolSpecs({loginShells, environmentIds}: SpecOptions): [ToolSpec, ToolSpec] {
	const [primary] = environmentIds;
	const where: JsonSchema = {
		type: 'string',
		enum: environmentIds,
		description: `Machine to run on; ${primary} if left out.`,
	};
	return [
		{
			name: 'exec_command',
			description:
				'Starts a shell command and waits for it, up to a limit. A command that needs longer goes on in a session ' +
				'whose number is in the answer; use write_stdin with that number to hear more of it or to type something.',
			inputSchema: objectSchema(['cmd'], {
				cmd: {type: 'string', description: 'The command, as one would type it at a prompt.'},
				workdir: {type: 'string', description: 'Directory to run in; relative ones start at the default directory.'},
				shell: {type: 'string', description: "Shell to use instead of the user's own."},
				...(loginShells && {
					login: {type: 'boolean', description: 'Whether the shell reads the login profile first; true if left out.'},
				}),
				tty: {
					type: 'boolean',
					description: 'Runs on a terminal whose input stays open; false if left out, without any input.',
				},
				yield_time_ms: millisecondsSchema(
					`Longest wait for the command before answering (${MIN_YIELD_MS} to ${MAX_YIELD_MS}).`,
					DEFAULT_EXEC_YIELD_MS,
				),
				max_output_tokens: OUTPUT_TOKENS_SCHEMA,
				...(environmentIds.length > 1 && {environment_id: where}),
			}),
			outputSchema: RESULT_SCHEMA,
		},
		{
			name: 'write_stdin',
			description:
				'Types into the terminal of a running session, or only looks what it has said since, and answers with that.',
			inputSchema: objectSchema(['session_id'], {
				session_id: {type: 'number', description: 'Number of the session, from the answer of exec_command.'},
				chars: {
					type: 'string',
					description: 'What to type; nothing if left out. Without a terminal only U+0003 works, as an interrupt.',
				},
				yield_time_ms: millisecondsSchema(
					`Longest wait for output before answering; at least ${MIN_POLL_MS} when nothing is typed.`,
					DEFAULT_WRITE_YIELD_MS,
				),
				max_output_tokens: OUTPUT_TOKENS_SCHEMA,
			}),
			outputSchema: RESULT_SCHEMA,
		},
	];
}

const RESULT_SCHEMA = objectSchema(['wall_time_seconds', 'output'], {
	chunk_id: {type: 'string', description: 'Names this piece of output.'},
	wall_time_seconds: {type: 'number', description: 'How long this call waited.'},
	exit_code: {type: 'number', description: 'Present when the command has exited.'},
	session_id: {type: 'number', description: 'Present while the command runs; for write_stdin.'},
	original_token_count: {type: 'number', description: 'Estimated size of the output before anything was left out.'},
	output: {type: 'string', description: 'What the command has said since the last call.'},
	executor: {type: 'string', description: 'Present while the machine cannot be reached.'},
	failure: {type: 'string', description: 'Present when nothing more can be learnt of the command: why.'},
});

function objectSchema(required: readonly string[], properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
	return {type: 'object', properties, required, additionalProperties: false};
}

function millisecondsSchema(description: string, standard: number): JsonSchema {
	return {type: 'number', description: `${description} In milliseconds; ${standard} if left out.`};
}
