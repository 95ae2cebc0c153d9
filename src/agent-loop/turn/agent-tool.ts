import type {UnifiedExec} from '../../agent-tools/unified-exec.js';
import type {FunctionTool} from '../model/response-items.js';

/** Facts about a call of a tool. */
export interface ToolCallContext {
	readonly callId: string;
	readonly turnId: string;
	/** Aborted when the turn ends. */
	readonly signal: AbortSignal;
}

/** Answer of a tool to the model. */
export interface ToolResult {
	readonly text: string;
	/** Whether the work is done, so that the turn may end without another request. */
	readonly isDone?: boolean | undefined;
}

/** A function the model may call. A call never rejects because of its arguments: failures are texts for the model. */
export interface AgentTool {
	readonly tool: FunctionTool;
	call(args: string, context: ToolCallContext): Promise<ToolResult>;
}

/** `exec_command` and `write_stdin` for a turn. */
export function createExecTools(exec: UnifiedExec): AgentTool[] {
	return exec.toolSpecs().map(({name, description, inputSchema}) => ({
		tool: {type: 'function', name, description, strict: false, parameters: inputSchema},
		call: async (args, context) => ({text: (await exec.call(name, args, context)).text}),
	}));
}
