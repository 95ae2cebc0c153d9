import type {WebSocket} from 'ws';
import type {WatchedLink} from './peer-watch.js';

/**
 * Pings a peer; true as soon as it answers, false if the connection ends or nothing is heard in time. In doubt it is
 * there: when we do not read, or while the ping is still on its way over a slow link.
 */
export async function askPeer(link: WatchedLink, webSocket: WebSocket, timeoutMs: number): Promise<boolean> {
	if (webSocket.readyState !== webSocket.OPEN) return false;
	const {bytesRead} = link;
	const before = link.readTcpInfo();
	const queuedBytes = (before?.queuedBytes ?? 0) + link.backlog;
	const sentBytes = before ? before.ackedBytes : link.bytesWritten - link.backlog;
	link.ping();
	const first = await waitForPong(webSocket, timeoutMs);
	if (first !== 'late') return first === 'pong';
	const after = link.readTcpInfo();
	if (link.bytesRead !== bytesRead || (after && after.dataSilentMs < timeoutMs)) return true;
	if (!after && link.isPaused) return true;
	const arrivedBytes = (after ? after.ackedBytes : link.bytesWritten - link.backlog) - sentBytes;
	return arrivedBytes > 0 && arrivedBytes < queuedBytes;
}

function waitForPong(webSocket: WebSocket, timeoutMs: number): Promise<'pong' | 'closed' | 'late'> {
	return new Promise(resolve => {
		const settle = (outcome: 'pong' | 'closed' | 'late') => (): void => {
			clearTimeout(timer);
			webSocket.off('pong', answered).off('close', closed);
			resolve(outcome);
		};
		const [answered, closed] = [settle('pong'), settle('closed')];
		const timer = setTimeout(settle('late'), timeoutMs);
		webSocket.on('pong', answered).on('close', closed);
	});
}
