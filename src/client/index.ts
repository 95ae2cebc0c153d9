export {INITIALIZE_TIMEOUT_MS} from './connection.js';
export type {Lagged, Observed} from './event-log.js';
export type {Gap, NumberedEvent, OutputStream, ProcessEvent} from './process-events.js';
export {RECOVERY_BUDGET_MS} from './recovery.js';
export {type ExitStatus, ProcessLostError, type ReadResult, type RemoteProcess} from './remote-process.js';
export {type Connect, SessionClient, type SessionClientOptions, type StartedProcess} from './session-client.js';
