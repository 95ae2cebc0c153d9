export type {ForwardScope} from '../network/forward/forward-scopes.js';
export type {ChildLimits} from '../processes/backends/child-limits.js';
export type {AccessScope} from '../protocol/methods/declare-method.js';
export type {Logger} from '../shared/logger.js';
export {
	type AdmissionResult,
	type ConnectionRequest,
	type Listener,
	type ListenOptions,
	listen,
} from '../transports/node/listener.js';
export {ownStdio, StdioTransport} from '../transports/node/stdio.js';
export type {TlsIdentity} from '../transports/node/tls-server.js';
export {Authenticator, type AuthFailure, type AuthResult, type AuthSource} from './auth/authenticator.js';
export type {Grant, GrantLimits} from './auth/grant.js';
export type {SignedTokenRules} from './auth/signed-tokens.js';
export {DEFAULTS, type ServerOptions} from './options.js';
export {ExecServer} from './server.js';
