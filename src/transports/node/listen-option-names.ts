import type {OptionTable} from '../../shared/call-options.js';
import type {ListenOptions} from './listener.js';

/** Every option of `listen`, and its form. */
export const LISTEN_OPTIONS: OptionTable<ListenOptions<unknown>> = {
	host: 'text',
	port: 'count',
	listeningFd: 'count',
	onRefused: 'function',
	dangerouslyAllowNetwork: 'flag',
	authorize: 'function',
	ready: 'object',
	accept: 'function',
	hasRoom: 'function',
	isOpen: 'function',
	maxConnections: 'limit',
	allowOrigins: 'list',
	refuseLocalPeer: 'function',
	allowHosts: 'list',
	mayReadPages: 'function',
	pages: 'object',
	site: 'object',
	tls: 'object',
	handshakeMs: 'limit',
	peerTimes: 'object',
	onStoppedPeer: 'function',
};
