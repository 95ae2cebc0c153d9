export {DisconnectedError} from '../rpc/disconnected-error.js';
export {
	connectStandardWebSocket,
	type StandardWebSocketOptions,
} from '../transports/standard-web-socket.js';
export {AcceptedClient} from './accepted-client.js';
export {INITIALIZE_TIMEOUT_MS, MAX_PENDING_CALLS} from './connection.js';
export {CallTimeoutError, ProtocolError, RejectedError, TooManyCallsError} from './errors.js';
export type {Lagged, Observed} from './event-log.js';
export {FileError, type FileErrorCode} from './files/file-error.js';
export {nativePathOf} from './files/file-path.js';
export type * from './files/files.js';
export {RemoteFiles} from './files/remote-files.js';
export {
	type Route,
	type TransferOptions,
	type TransferProgress,
	type TransferResult,
	transfer,
} from './files/transfer.js';
export type {TransferPlace} from './files/transfer-place.js';
export {ForwardError, type ForwardErrorCode} from './forward/forward-error.js';
export type {Ports, PortTarget} from './forward/ports.js';
export {RemotePorts} from './forward/remote-ports.js';
export type {Tunnel} from './forward/tunnel.js';
export type {FetchInit, Http, VariableHeader} from './http/http.js';
export {HttpError, type HttpErrorCode} from './http/http-error.js';
export {RemoteHttp} from './http/remote-http.js';
export {type DisconnectListener, LazyClient, type LazyClientOptions, type RemoteStatus} from './lazy-client.js';
export {type Path, toPathUri} from './paths.js';
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
export {Collected, type Communicated, type CommunicateOptions, communicate} from './run/communicate.js';
export type {Input} from './run/feed.js';
export {RunError, type RunOptions, type RunReason, type RunResult, run} from './run/run.js';
export {type WaitCondition, WaitError, type WaitOptions, type WaitResult, waitFor} from './run/wait-for.js';
export {type Connect, SessionClient, type SessionClientOptions} from './session-client.js';
export * from './unified-exec/index.js';
