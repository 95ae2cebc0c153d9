import {WebSocket} from 'ws';

/** A reply after this time counts as none. */
export const REPLY_MS = 60_000;

/** An error reply, with what the server said. */
export class ReplyError extends Error {
	constructor({code, message, data}) {
		super(message);
		this.code = code;
		this.data = data;
	}
}

/** The connection ended before the reply came. */
export class CutError extends Error {}

/** The reply is overdue on a connection that still stands. */
export class NoReplyError extends Error {}

/**
 * One connection with its handshake done. `notified(method, params)` gets what nobody watches by process id. A failed
 * connection or handshake rejects.
 */
export async function connect(url, {resumeSessionId, notified = () => {}, replyMs = REPLY_MS} = {}) {
	const socket = new WebSocket(url, {perMessageDeflate: false, maxPayload: 0, handshakeTimeout: replyMs});
	await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
	const calls = new Map();
	const watchers = new Map();
	let nextId = 1;
	socket.on('error', () => {});
	socket.on('message', data => {
		const message = JSON.parse(data);
		if (message.id === undefined) {
			const {processId} = message.params;
			(watchers.get(processId) ?? notified)(message.method, message.params);
			return;
		}
		const call = calls.get(message.id);
		calls.delete(message.id);
		clearTimeout(call?.timer);
		if (message.error) call?.reject(new ReplyError(message.error));
		else call?.resolve(message.result);
	});
	const closed = new Promise(resolve => {
		socket.once('close', () => {
			for (const {method, timer, reject} of calls.values()) {
				clearTimeout(timer);
				reject(new CutError(`${method}: the connection was cut`));
			}
			calls.clear();
			resolve();
		});
	});
	const call = (method, params) =>
		new Promise((resolve, reject) => {
			if (socket.readyState !== WebSocket.OPEN) {
				reject(new CutError(`${method}: the connection was cut before`));
				return;
			}
			const id = nextId++;
			const late = () => reject(new NoReplyError(`${method} ${JSON.stringify(params).slice(0, 200)}: no reply`));
			calls.set(id, {method, resolve, reject, timer: setTimeout(late, replyMs)});
			socket.send(JSON.stringify({id, method, params}));
		});

	let sessionId;
	try {
		({sessionId} = await call('initialize', {clientName: 'bench', resumeSessionId}));
	} catch (error) {
		socket.terminate();
		throw error;
	}
	socket.send(JSON.stringify({method: 'initialized'}));
	return {
		socket,
		sessionId,
		call,
		/** Settles when the connection is over. */
		closed,
		/** Events of this process go to `listener(method, params)` from now on. */
		watch: (processId, listener) => watchers.set(processId, listener),
		unwatch: processId => watchers.delete(processId),
	};
}

/** The members of `process/start` that nearly everybody wants the same. */
export function startParams({id, argv, tty = false, ...rest}) {
	return {processId: id, argv, cwd: 'file:///tmp', env: {PATH: process.env.PATH}, tty, ...rest};
}

/** Runs a shell script to its end and tells what it said. */
export function run(client, {id, script, tty = false, onChunk}) {
	return new Promise((resolve, reject) => {
		const result = {bytes: 0, events: 0, exitCode: undefined, inOrder: true};
		client.watch(id, (method, params) => {
			result.inOrder &&= params.seq === ++result.events;
			if (method === 'process/output') {
				const chunk = Buffer.from(params.chunk, 'base64');
				result.bytes += chunk.length;
				onChunk?.(chunk);
			} else if (method === 'process/exited') {
				result.exitCode = params.exitCode;
			} else {
				client.unwatch(id);
				resolve(result);
			}
		});
		client.call('process/start', startParams({id, argv: ['/bin/sh', '-c', script], tty})).catch(reject);
	});
}
