import type {Socket} from 'node:net';
import {type AddressInfo, createServer, type Server} from 'node:net';
import type {PortConnection} from '../../client/ports/port-connection.js';
import {createAdmission} from '../../server/local-admission.js';
import {errorMessage} from '../../shared/errors.js';
import {isLoopback} from '../../transports/node/loopback.js';
import type {Environment} from '../environment.js';
import {type ForwardSpec, formatHostPort} from './forwarded-port.js';

/** Connections of one forwarded port at once, as many as a server carries for one client. */
const MAX_CONNECTIONS = 256;

export interface PortForwardOptions {
	readonly environment: Environment;
	/** Hears of every connection that could not be made or broke. */
	readonly failed: (message: string) => void;
}

/** One port here that leads to one port there. */
export class PortForward implements AsyncDisposable {
	readonly spec: ForwardSpec;
	readonly #server: Server;
	readonly #sockets = new Set<Socket>();
	readonly #options: PortForwardOptions;
	#refusePeer: (socket: Socket) => string | undefined = () => undefined;

	static async listen(spec: ForwardSpec, options: PortForwardOptions): Promise<PortForward> {
		const forward = new PortForward(spec, options);
		await forward.#listen();
		// On loopback it is for the user who asked for it, as that user's own connection to the machine is.
		forward.#refusePeer = createAdmission({isForThisUser: isLoopback(forward.local.address), sandboxes: 'longarm'});
		return forward;
	}

	private constructor(spec: ForwardSpec, options: PortForwardOptions) {
		this.spec = spec;
		this.#options = options;
		// Nothing is read before there is somewhere to put it.
		this.#server = createServer({allowHalfOpen: true, pauseOnConnect: true, noDelay: true}, socket => {
			void this.#serve(socket);
		});
	}

	/** Where it really listens. */
	get local(): {readonly address: string; readonly port: number} {
		const {address, port} = this.#server.address() as AddressInfo;
		return {address, port};
	}

	/** Its target, for people. */
	get remote(): string {
		return formatHostPort(this.spec.host, this.spec.remotePort);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		const closed = new Promise(resolve => {
			this.#server.close(resolve);
		});
		for (const socket of this.#sockets) socket.resetAndDestroy();
		await closed;
	}

	#listen(): Promise<void> {
		const {address, port} = this.spec;
		return new Promise((resolve, reject) => {
			this.#server.once('error', (error: NodeJS.ErrnoException) => {
				const why = error.code === 'EADDRINUSE' ? 'the port is taken; port 0 picks a free one' : error.message;
				reject(new Error(`cannot listen on ${formatHostPort(address, port)}: ${why}`, {cause: error}));
			});
			this.#server.listen({host: address, port}, resolve);
		});
	}

	async #serve(socket: Socket): Promise<void> {
		const {environment, failed} = this.#options;
		const gone = new AbortController();
		socket.on('error', () => {});
		socket.once('close', () => {
			this.#sockets.delete(socket);
			gone.abort();
		});
		this.#sockets.add(socket);
		try {
			const refusal = this.#refusePeer(socket);
			if (refusal !== undefined) throw new Error(refusal);
			if (this.#sockets.size > MAX_CONNECTIONS) throw new Error(`more than ${MAX_CONNECTIONS} connections are open`);
			const {host, remotePort: port} = this.spec;
			const tunnel = await environment.connect({host, port, signal: gone.signal});
			await pipeBoth(socket, tunnel);
		} catch (error) {
			// The client that connected here has gone: nothing to report.
			if (socket.errored || gone.signal.aborted || !this.#server.listening) return;
			socket.resetAndDestroy();
			failed(`${this.remote} of ${environment.id}: ${errorMessage(error)}`);
		}
	}
}

/**
 * Copies bytes both ways until both directions have ended, with back-pressure. A failure of one side is a reset for the
 * other, so that it is not taken for an end.
 */
export async function pipeBoth(socket: Socket, tunnel: PortConnection): Promise<void> {
	const broken = new Promise<never>((_resolve, reject) => {
		socket.once('error', reject);
		socket.once('close', () => reject(new Error('closed before its end')));
	});
	broken.catch(() => {});
	try {
		await Promise.race([Promise.all([pipeFromSocket(socket, tunnel), pipeToSocket(tunnel, socket)]), broken]);
	} catch (error) {
		socket.resetAndDestroy();
		throw error;
	} finally {
		tunnel.close();
	}
}

async function pipeFromSocket(socket: Socket, {writable}: PortConnection): Promise<void> {
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

async function pipeToSocket({readable}: PortConnection, socket: Socket): Promise<void> {
	for await (const chunk of readable) {
		if (!socket.write(chunk)) await new Promise(resolve => socket.once('drain', resolve));
	}
	await new Promise<void>(resolve => {
		socket.end(resolve);
	});
}
