import type {Socket} from 'node:net';
import type {WatchedLink} from './peer-watch.js';
import {descriptorOf} from './socket-descriptor.js';
import {readTcpInfo} from './tcp-info.js';

/** The part of a connection that its socket does not know. */
export interface SocketLinkActions extends Pick<WatchedLink, 'ping' | 'giveUp' | 'stopped'> {
	readonly isPaused: () => boolean;
}

/** A connection for those who judge whether its peer is there; the numbers are those of its socket. */
export function createSocketLink(socket: Socket, {isPaused, ping, giveUp, stopped}: SocketLinkActions): WatchedLink {
	return {
		get bytesRead() {
			return socket.bytesRead;
		},
		get bytesWritten() {
			return socket.bytesWritten;
		},
		get backlog() {
			return socket.writableLength;
		},
		get isPaused() {
			return isPaused();
		},
		readTcpInfo: () => readTcpInfo(descriptorOf(socket) ?? -1),
		ping,
		giveUp,
		stopped,
	};
}
