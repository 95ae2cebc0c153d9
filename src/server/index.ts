export {type Listener, type ListenOptions, listen} from '../transports/node/listener.js';
export {ownStdio, StdioTransport} from '../transports/node/stdio.js';
export {DEFAULTS, type ServerOptions} from './options.js';
export {ExecServer} from './server.js';
