export {EndpointUrlError, ModelEndpoint} from './model/model-endpoint.js';
export {ModelError, type ModelErrorDetails, type ModelFailure} from './model/model-error.js';
export type {ModelRequest, ReasoningEffort} from './model/request-body.js';
export type {FunctionTool, ModelResponse, ResponseItem, TokenUsage} from './model/response-items.js';
export {type ResponseOptions, ResponsesClient, type ResponsesClientOptions} from './model/responses-client.js';
export type {ModelOptions} from './turn/agent-thread.js';
export {
	decodeTurnCompleted,
	type Turn,
	type TurnCompletion,
	type TurnItem,
	type TurnNotification,
	type TurnStatus,
} from './turn/turn-notifications.js';
export {AgentWorker, type AgentWorkerOptions} from './worker/agent-worker.js';
