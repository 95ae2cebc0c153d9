import type {WebSocket} from 'ws';

/** Unsent bytes above which pings are not answered: a peer that pings and does not read would fill the memory with pongs. */
export const MAX_UNSENT_BEFORE_PONG_BYTES = 64 * 1024;

/** Answers pings as far as the peer reads. The socket must have been created with `autoPong: false`. */
export function answerPings(webSocket: WebSocket): void {
	webSocket.on('ping', data => {
		if (webSocket.readyState !== webSocket.OPEN) return;
		if (webSocket.bufferedAmount <= MAX_UNSENT_BEFORE_PONG_BYTES) webSocket.pong(data);
	});
}
