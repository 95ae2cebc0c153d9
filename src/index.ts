export {ExecServer, type Listener, type ListenOptions, listen, type ServerOptions} from './server/index.js';
export {ERRORS, type ErrorCode, LongarmError} from './shared/errors.js';
export {memoryTransportPair} from './transports/memory.js';
export type {Transport, TransportEvents} from './transports/transport.js';
