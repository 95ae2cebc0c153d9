export {
	decodeTurnCompleted,
	type Turn,
	type TurnCompletion,
	type TurnStatus,
} from './agent-loop/turn/turn-notifications.js';
export * from './agent-tools/index.js';
export * from './client/index.js';
