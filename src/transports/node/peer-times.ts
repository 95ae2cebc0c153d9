/** When a silent peer is asked, and when it is given up. */
export interface PeerTimes {
	/** A peer that has been silent for this long is pinged; 0 sends no pings and gives nobody up. */
	readonly pingIntervalMs: number;
	/** A peer that has been silent for this long is gone; 0 gives nobody up. */
	readonly peerTimeoutMs: number;
	/**
	 * The same for a peer that does not read what we send, while its machine answers; not above `peerTimeoutMs` makes no
	 * difference between the two.
	 */
	readonly stoppedPeerMs: number;
}

/** Pings also keep NATs and proxies from dropping an idle connection. */
export const PING_INTERVAL_MS = 10_000;
export const PEER_TIMEOUT_MS = 25_000;
/** Long enough for a program that a person has stopped to be continued. */
export const STOPPED_PEER_MS = 3_600_000;

export const SERVER_PEER_TIMES: PeerTimes = {
	pingIntervalMs: PING_INTERVAL_MS,
	peerTimeoutMs: PEER_TIMEOUT_MS,
	stoppedPeerMs: STOPPED_PEER_MS,
};

/** A client can connect again and loses nothing by it, so it makes no difference between stopped and gone. */
export const CLIENT_PEER_TIMES: PeerTimes = {...SERVER_PEER_TIMES, stoppedPeerMs: 0};

/** Why the times make no sense together; undefined if they do. */
export function findTimesFault({pingIntervalMs, peerTimeoutMs}: PeerTimes): string | undefined {
	if (pingIntervalMs === 0 || peerTimeoutMs === 0 || peerTimeoutMs > pingIntervalMs) return undefined;
	return 'the time after which a silent peer is gone has to be longer than the interval of pings';
}
