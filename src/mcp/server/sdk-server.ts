import {
	type CallToolResult,
	CLIENT_CAPABILITIES_META_KEY,
	CLIENT_INFO_META_KEY,
	type ClientCapabilities,
	createRequestStateCodec,
	inputRequired,
	ProtocolError,
	ProtocolErrorCode,
	Server,
	type ServerContext,
} from '@modelcontextprotocol/server';
import {randomHex} from '../../shared/random-id.js';
import {VERSION} from '../../shared/version.js';
import {TASK_TTL_MS, Task} from './calls/task-table.js';
import type {AskReply, CallAnswer} from './calls/tool-call.js';
import {LINE_FORM, readLine, takesStructure, toResult} from './sdk-results.js';
import {installTaskHandlers, TASKS_EXTENSION, toTaskFields} from './sdk-tasks.js';
import type {ClientCall, ToolService} from './tool-service.js';

/** Bytes of the key that protects the state of a question. */
const KEY_BYTES = 32;
/** Key of the one question of a call. */
const LINE = 'line';
/** Time in which a question can be answered, in seconds. */
const QUESTION_TTL_S = 24 * 60 * 60;

/** State of a call that was answered with a question. */
interface Question {
	readonly processId: string;
}

export interface SdkServerOptions {
	readonly service: ToolService;
	/** Text for models, made when a client asks for it. */
	readonly instructions: () => Promise<string>;
}

/** Makes servers of the SDK, for clients of both protocol versions; they share everything but the connection. */
export function createServerFactory({service, instructions}: SdkServerOptions): () => Promise<Server> {
	const questions = createRequestStateCodec<Question>({key: randomHex(KEY_BYTES), ttlSeconds: QUESTION_TTL_S});
	return async () => {
		const server = new Server(
			{name: 'longarm', version: VERSION},
			{
				capabilities: {tools: {}, extensions: {[TASKS_EXTENSION]: {}}},
				instructions: await instructions(),
				requestState: {verify: (state, context) => questions.verify(state, context)},
			},
		);
		const isStructured = (context: ServerContext): boolean => takesStructure(readClientName(context, server));
		server.setRequestHandler('tools/list', (_request, context) => ({
			tools: service.tools.map(({definition: {outputSchema, ...rest}}) =>
				isStructured(context) ? {...rest, outputSchema} : rest,
			),
		}));
		server.setRequestHandler('tools/call', async ({params}, context) => {
			const capabilities = readCapabilities(context) ?? server.getClientCapabilities();
			const answer = await callTool(service, toClientCall(params, context, capabilities));
			if (answer instanceof Task) return toTaskResult(answer);
			if (answer.kind !== 'ask') return toResult(answer, isStructured(context));
			const {message, processId} = answer;
			return inputRequired({
				inputRequests: {[LINE]: inputRequired.elicit({message, requestedSchema: LINE_FORM})},
				requestState: await questions.mint({processId}, context),
			});
		});
		installTaskHandlers(server, service, isStructured);
		return server;
	};
}

/** Of clients that send them with every request. */
function readCapabilities({mcpReq}: ServerContext): ClientCapabilities | undefined {
	return (mcpReq.envelope as Record<string, ClientCapabilities | undefined> | undefined)?.[
		CLIENT_CAPABILITIES_META_KEY
	];
}

/** With every request, or from the opening of the connection; undefined over HTTP without either. */
function readClientName({mcpReq}: ServerContext, server: Server): string | undefined {
	const envelope = mcpReq.envelope as Record<string, {readonly name?: string} | undefined> | undefined;
	return envelope?.[CLIENT_INFO_META_KEY]?.name ?? server.getClientVersion()?.name;
}

async function callTool(service: ToolService, call: ClientCall): Promise<CallAnswer | Task> {
	try {
		return await service.call(call);
	} catch (error) {
		if (error instanceof RangeError) throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message);
		throw error;
	}
}

function toClientCall(
	{name, arguments: given}: {name: string; arguments?: Record<string, unknown> | undefined},
	{mcpReq}: ServerContext,
	capabilities: ClientCapabilities | undefined,
): ClientCall {
	const token = mcpReq._meta?.progressToken;
	const report = (progress: number, message: string): void => {
		void mcpReq
			.notify({method: 'notifications/progress', params: {progressToken: token!, progress, message}})
			.catch(() => {});
	};
	return {
		name,
		arguments: given,
		signal: mcpReq.signal,
		takesTasks: mcpReq.envelope !== undefined && capabilities?.extensions?.[TASKS_EXTENSION] !== undefined,
		report: token === undefined ? undefined : report,
		canAsk: canElicit(capabilities),
		reply: toReply(mcpReq),
	};
}

/** Clients that declare elicitation without a mode take forms. */
function canElicit(capabilities: ClientCapabilities | undefined): boolean {
	const elicitation = capabilities?.elicitation;
	return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

function toReply(mcpReq: ServerContext['mcpReq']): AskReply | undefined {
	const question = mcpReq.requestState<Question>();
	return question && {processId: question.processId, line: readLine(mcpReq.inputResponses, LINE)};
}

function toTaskResult(task: Task): CallToolResult {
	return {content: [], resultType: 'task', ...toTaskFields(task, 'working', TASK_TTL_MS)};
}
