export {type Listener, type ListenOptions, listen, type Verdict, type Visitor} from '../transports/node/listener.js';
export {ownStdio, StdioTransport} from '../transports/node/stdio.js';
export type {TlsIdentity} from '../transports/node/tls-server.js';
export {Authenticator, type AuthSource, type AuthVerdict} from './auth/authenticator.js';
export type {Grant, GrantLimits} from './auth/grant.js';
export {DEFAULTS, type ServerOptions} from './options.js';
export {ExecServer} from './server.js';
