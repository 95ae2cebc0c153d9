import {
	inputRequired,
	ProtocolError,
	ProtocolErrorCode,
	type Server,
	type ServerContext,
	type StandardSchemaV1,
} from '@modelcontextprotocol/server';
import {TASK_TTL_MS, type Task} from './calls/task-table.js';
import {LINE_FORM, readLine, toResult} from './sdk-results.js';
import type {ToolService} from './tool-service.js';

/** Name of the extension of the protocol for calls that outlive their request. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

interface TaskParams {
	readonly taskId: string;
	readonly inputResponses?: Record<string, unknown>;
}

/** `tasks/get`, `tasks/update` and `tasks/cancel`: the SDK has no handlers for them. */
export function installTaskHandlers(
	server: Server,
	service: ToolService,
	isStructured: (context: ServerContext) => boolean,
): void {
	const schemas = {params: TASK_PARAMS};
	server.setRequestHandler('tasks/get', schemas, async ({taskId}, context) =>
		describeTask(await requireTask(service, taskId), isStructured(context)),
	);
	server.setRequestHandler('tasks/update', schemas, async ({taskId, inputResponses}, {mcpReq}) => {
		const task = await requireTask(service, taskId);
		// The SDK takes the replies of every request out of its parameters.
		const replies = inputResponses ?? mcpReq.inputResponses ?? {};
		for (const key of Object.keys(replies)) task.reply(key, readLine(replies, key));
		return {};
	});
	server.setRequestHandler('tasks/cancel', schemas, async ({taskId}) => {
		(await requireTask(service, taskId)).cancel();
		return {};
	});
}

/** Members of every answer about a task. */
export function toTaskFields(task: Task, status: TaskStatus, ttlMs: number, statusMessage?: string): object {
	const {id, createdAt, lastUpdatedAt, pollIntervalMs} = task;
	return {
		taskId: id,
		status,
		...(statusMessage !== undefined && {statusMessage}),
		createdAt: createdAt.toISOString(),
		lastUpdatedAt: lastUpdatedAt.toISOString(),
		ttlMs,
		pollIntervalMs,
	};
}

async function describeTask(task: Task, isStructured: boolean): Promise<Record<string, unknown>> {
	const {state} = task;
	const fields = (status: TaskStatus, message?: string): object => toTaskFields(task, status, TASK_TTL_MS, message);
	switch (state.kind) {
		case 'working':
			return {...fields('working', await task.describe())};
		case 'asking': {
			const {key, message} = state;
			const inputRequests = {[key]: inputRequired.elicit({message, requestedSchema: LINE_FORM})};
			return {...fields('input_required', message), inputRequests};
		}
		case 'done':
			return {
				...fields('completed'),
				result: state.answer.kind === 'ask' ? {content: []} : toResult(state.answer, isStructured),
			};
		case 'failed':
			return {
				...fields('failed', state.message),
				error: {code: ProtocolErrorCode.InternalError, message: state.message},
			};
		case 'cancelled':
			return {...fields('cancelled')};
	}
}

async function requireTask(service: ToolService, taskId: string): Promise<Task> {
	const task = await service.findTask(taskId);
	if (task) return task;
	throw new ProtocolError(ProtocolErrorCode.InvalidParams, `unknown task ${JSON.stringify(taskId)}`);
}

const TASK_PARAMS: StandardSchemaV1<unknown, TaskParams> = {
	'~standard': {
		version: 1,
		vendor: 'longarm',
		validate(value) {
			const {taskId, inputResponses} = (value ?? {}) as Partial<Record<keyof TaskParams, unknown>>;
			if (typeof taskId !== 'string') return {issues: [{message: 'taskId must be a string'}]};
			const isFit = inputResponses === undefined || (typeof inputResponses === 'object' && inputResponses !== null);
			if (!isFit) return {issues: [{message: 'inputResponses must be an object'}]};
			return {value: value as TaskParams};
		},
	},
};
