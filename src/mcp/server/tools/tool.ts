import {type ArgumentsOf, type ParameterTable, readArguments, toJsonSchema} from '../calls/parameters.js';
import type {CallAnswer, ToolCall} from '../calls/tool-call.js';
import type {ForwardedPorts} from '../machines/forwarded-ports.js';
import type {MachineSet} from '../machines/machine-set.js';
import type {KnownProcesses} from '../processes/known-processes.js';
import type {TrackedProcess} from '../processes/tracked-process.js';

/** Groups of tools that can be left out: `--tools`. */
export const TOOL_GROUPS = ['exec', 'files', 'ports', 'jobs'] as const;
export type ToolGroup = (typeof TOOL_GROUPS)[number];

/** Longest text that a model may ask for. */
export const MAX_ANSWER_CHARACTERS = 200_000;

/** Everything that tools work on. */
export interface ToolContext {
	readonly machines: MachineSet;
	readonly processes: KnownProcesses;
	readonly ports: ForwardedPorts;
	/** Characters of output in an answer, if the model does not say. */
	readonly maxChars: number;
}

/** A tool as clients see it. */
export interface ToolDefinition {
	readonly name: string;
	readonly description: string;
	readonly inputSchema: ReturnType<typeof toJsonSchema>;
	/** Members of the structured answer that programs rely on; there are more. */
	readonly outputSchema: ResultSchema;
	readonly annotations: {readonly readOnlyHint?: true; readonly destructiveHint?: true};
}

type ResultSchema = {
	readonly type: 'object';
	readonly properties?: Readonly<Record<string, {readonly type: 'string' | 'integer'}>>;
};

/** Members of an answer by their type. */
type ResultTable = Readonly<Record<string, 'string' | 'integer'>>;

/** Members of an answer about a process; an exit code only if it has ended. */
export const PROCESS_RESULTS: ResultTable = {state: 'string', exit_code: 'integer'};

export interface Tool {
	readonly definition: ToolDefinition;
	readonly groups: readonly ToolGroup[];
	readonly isReadOnly: boolean;
	/** Whether a call may take longer than a client waits. */
	readonly mayWait: boolean;
	run(given: unknown, context: ToolContext, call: ToolCall): Promise<CallAnswer>;
	/** Goes on with a call whose process was given the line it waited for. */
	resume(given: unknown, process: TrackedProcess, context: ToolContext, call: ToolCall): Promise<CallAnswer>;
}

interface ToolPlan<T extends ParameterTable> {
	readonly name: string;
	readonly description: string;
	readonly parameters: T;
	readonly results?: ResultTable;
	readonly groups: readonly ToolGroup[];
	readonly isReadOnly?: true;
	readonly mayWait?: true;
	run(args: ArgumentsOf<T>, context: ToolContext, call: ToolCall): Promise<CallAnswer>;
	resume?(args: ArgumentsOf<T>, process: TrackedProcess, context: ToolContext, call: ToolCall): Promise<CallAnswer>;
}

/** A tool from its table of parameters. */
export function defineTool<const T extends ParameterTable>(plan: ToolPlan<T>): Tool {
	const {name, description, parameters, groups, isReadOnly = false, mayWait = false} = plan;
	return {
		definition: {
			name,
			description,
			inputSchema: toJsonSchema(parameters),
			outputSchema: toResultSchema(plan.results),
			annotations: isReadOnly ? {readOnlyHint: true} : {destructiveHint: true},
		},
		groups,
		isReadOnly,
		mayWait,
		run: (given, context, call) => plan.run(readArguments(parameters, given), context, call),
		resume: (given, process, context, call) => {
			if (!plan.resume) throw new TypeError(`${name} asks for nothing`);
			return plan.resume(readArguments(parameters, given), process, context, call);
		},
	};
}

function toResultSchema(results: ResultTable | undefined): ResultSchema {
	if (!results) return {type: 'object'};
	const properties = Object.fromEntries(Object.entries(results).map(([name, type]) => [name, {type}]));
	return {type: 'object', properties};
}

/** Characters of an answer. */
export function answerSize(asked: number | undefined, {maxChars}: ToolContext): number {
	return Math.min(asked ?? maxChars, MAX_ANSWER_CHARACTERS);
}
