import type {Socket} from 'node:net';
import type {Tunnel} from '../../client/forward/tunnel.js';

/**
 * Carries bytes both ways until both directions have ended. Whoever reads slowly makes the other side wait. A failure
 * of one side is a reset for the other, so that nobody takes it for an end.
 */
export async function join(socket: Socket, tunnel: Tunnel): Promise<void> {
	const broken = new Promise<never>((_resolve, reject) => {
		socket.once('error', reject);
		socket.once('close', () => reject(new Error('closed before its end')));
	});
	broken.catch(() => {});
	try {
		await Promise.race([Promise.all([fromSocket(socket, tunnel), toSocket(tunnel, socket)]), broken]);
	} catch (error) {
		socket.resetAndDestroy();
		throw error;
	} finally {
		tunnel.close();
	}
}

async function fromSocket(socket: Socket, {writable}: Tunnel): Promise<void> {
	const writer = writable.getWriter();
	writer.closed.catch(() => {});
	await new Promise<void>((resolve, reject) => {
		socket.on('data', chunk => {
			socket.pause();
			writer.write(chunk).then(() => socket.resume(), reject);
		});
		socket.once('end', resolve);
		socket.resume();
	});
	await writer.close();
}

async function toSocket({readable}: Tunnel, socket: Socket): Promise<void> {
	for await (const chunk of readable) {
		if (!socket.write(chunk)) await new Promise(resolve => socket.once('drain', resolve));
	}
	await new Promise<void>(resolve => {
		socket.end(resolve);
	});
}
