export {
	type AdmissionResult,
	type ConnectionRequest,
	type Listener,
	type ListenOptions,
	listen,
} from '../transports/node/listener.js';
export {ownStdio, StdioTransport} from '../transports/node/stdio.js';
export type {TlsIdentity} from '../transports/node/tls-server.js';
export {Authenticator, type AuthResult, type AuthSource} from './auth/authenticator.js';
export type {Grant, GrantLimits} from './auth/grant.js';
export {DEFAULTS, type ServerOptions} from './options.js';
export {ExecServer} from './server.js';
