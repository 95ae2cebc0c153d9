export {INITIALIZE_TIMEOUT_MS, MOST_PENDING_CALLS} from './connection.js';
export {ProtocolError, RejectedError, TooManyCallsError} from './errors.js';
export type {Lagged, Observed} from './event-log.js';
export type {Gap, NumberedEvent, OutputStream, ProcessEvent} from './process-events.js';
export {
	type ExitStatus,
	type Output,
	type Processes,
	type ProcessHandle,
	ProcessLostError,
	type ReadResult,
	type StartedProcess,
	type StartOptions,
	type StartParams,
} from './process-handle.js';
export {RECOVERY_BUDGET_MS} from './recovery.js';
export {type Connect, SessionClient, type SessionClientOptions} from './session-client.js';
