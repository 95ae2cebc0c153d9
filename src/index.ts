export * from './client.js';
export * from './environments/index.js';
export type {BinaryPayload} from './protocol/wire/binary-payload.js';
export type {Frame} from './protocol/wire/encode.js';
export {
	type AttachedListener,
	type AttachOptions,
	ExecServer,
	type FromWebSocketOptions,
	fromWebSocket,
	type Listener,
	type ListenOptions,
	listen,
	type NodeWebSocket,
	type ServerOptions,
} from './server/index.js';
export {ERRORS, type ErrorCode, type ErrorDetails, LongarmError} from './shared/errors.js';
export {memoryTransportPair} from './transports/memory.js';
export {
	type ConnectCommandOptions,
	connectCommand,
} from './transports/node/connect-command.js';
export {type ConnectOptions, connectWebSocket, UnreachableError} from './transports/node/connect-web-socket.js';
export {
	ExecutorRegistryAuth,
	ExecutorRegistryConfig,
	ExecutorRegistryHttp,
	type ExecutorRegistryHttpDetails,
	ExecutorRegistryRequest,
	executorRegistryError,
	requireExecutorRegistry,
	requireExecutorRegistryToken,
} from './transports/node/relay/executor-registry-errors.js';
export type {TlsOptions} from './transports/node/tls-trust.js';
export type {Transport, TransportEvents} from './transports/transport.js';
