export {
	connectStandardWebSocket,
	type StandardWebSocketOptions,
} from '../transports/standard-web-socket.js';
export {AcceptedClient} from './accepted-client.js';
export {INITIALIZE_TIMEOUT_MS, MOST_PENDING_CALLS} from './connection.js';
export {ProtocolError, RejectedError, TooManyCallsError} from './errors.js';
export type {Lagged, Observed} from './event-log.js';
export {type DisconnectListener, LazyClient, type LazyClientOptions, type RemoteStatus} from './lazy-client.js';
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
export {type CommandOptions, type Machine, startParams} from './run/command.js';
export {Collected, type Communicated, type CommunicateOptions, communicate, type Input} from './run/communicate.js';
export {RunError, type RunOptions, type RunReason, type RunResult, run} from './run/run.js';
export {type WaitCondition, WaitError, type WaitOptions, type WaitResult, waitFor} from './run/wait-for.js';
export {type Connect, SessionClient, type SessionClientOptions} from './session-client.js';
