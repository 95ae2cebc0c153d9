export type {EnvironmentInfo} from '../protocol/methods/environment-methods.js';
export {DisconnectedError} from '../rpc/disconnected-error.js';
export type {WithDurations} from '../shared/call-options.js';
export type {Duration} from '../shared/units.js';
export {
	connectStandardWebSocket,
	type StandardWebSocketOptions,
	StandardWebSocketTransport,
} from '../transports/standard-web-socket.js';
export type {CopyFailure, CopyObserver, CopyProgress} from './files/copy/copy-context.js';
export {type CopyOptions, type CopyResult, copyFiles} from './files/copy/copy-files.js';
export type {CopySummary} from './files/copy/copy-stats.js';
export {
	type CopyRoute,
	type TransferOptions,
	type TransferProgress,
	type TransferResult,
	type TransferRoute,
	transfer,
} from './files/copy/transfer.js';
export {FileError, type FileErrorCode, type FileErrorDetails} from './files/file-error.js';
export type {EnvironmentLocation, FileLocation} from './files/file-location.js';
export type * from './files/files.js';
export {RemoteFiles} from './files/remote/remote-files.js';
export type {FetchInit, Http, VariableHeader} from './http/http.js';
export {HttpError, type HttpErrorCode} from './http/http-error.js';
export {RemoteHttp} from './http/remote-http.js';
export {nativePathOf, type Path, toPathUri} from './paths.js';
export {ForwardError, type ForwardErrorCode} from './ports/forward-error.js';
export type {PortConnection} from './ports/port-connection.js';
export type {Ports, PortTarget} from './ports/ports.js';
export {RemotePorts} from './ports/remote-ports.js';
export type {Gap, Lagged, NumberedEvent, OutputStream, ProcessEvent, StreamEvent} from './process/process-handle.js';
export {
	type ExitStatus,
	type Output,
	type OutputOptions,
	type Processes,
	type ProcessHandle,
	ProcessLostError,
	type ProcessSnapshot,
	type ProcessStarter,
	type ReadOptions,
	type ReadResult,
	type SandboxType,
	type Signal,
	type StartedProcess,
	type StartOptions,
	type StartParams,
	type TerminateMode,
	type TerminateResult,
	type UnattachedProcess,
	type WriteResult,
} from './process/process-handle.js';
export type {
	AttachProcessOptions,
	DriverChangeReason,
	ListedProcess,
	ListedShare,
	ListProcessesOptions,
	LogEntry,
	LoggedPage,
	LoggedPageOptions,
	LogOptions,
	ProcessChange,
	ProcessRole,
	ProcessShare,
	RecordingEntry,
	Screen,
	ScreenOptions,
	ScreenSize,
	ShareOptions,
	TakeOverOptions,
} from './process/shared-process.js';
export type {TextOptions, TextStream} from './process/text-streams.js';
export {Collected} from './run/collector.js';
export {type DisconnectPolicy, type ProcessHost, type RunCommandOptions, toStartParams} from './run/command.js';
export {type Communicated, type CommunicateOptions, communicate} from './run/communicate.js';
export type {OutputPosition} from './run/output-window.js';
export type {PatternResult} from './run/pattern-result.js';
export {type RunOptions, run} from './run/run.js';
export {RunError, type RunReason, type RunResult} from './run/run-result.js';
export {
	createSandboxPolicy,
	type SandboxOption,
	type SandboxPolicyOptions,
	type SandboxPreset,
} from './run/sandbox-policy.js';
export type {Audience, SharingOptions} from './run/sharing-options.js';
export {runCommandLine, type ShellOptions} from './run/shell-command.js';
export {
	type AwaitedInput,
	type PortSource,
	type WaitCondition,
	WaitError,
	type WaitOptions,
	type WaitResult,
	type WaitResultOf,
	waitFor,
} from './run/wait-for.js';
export type {Input} from './run/write-input.js';
export {AcceptedClient} from './session/accepted-client.js';
export {CallTimeoutError, ProtocolError, RejectedError, TooManyCallsError} from './session/client-errors.js';
export {INITIALIZE_TIMEOUT_MS, MAX_PENDING_CALLS, type ServerDescription} from './session/connection.js';
export {type DisconnectListener, LazyClient, type LazyClientOptions, type RemoteStatus} from './session/lazy-client.js';
export {RECOVERY_BUDGET_MS} from './session/recovery.js';
export {
	type Connect,
	SessionClient,
	type SessionClientOptions,
} from './session/session-client.js';
