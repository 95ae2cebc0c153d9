import type {ConnectionPool, Route} from './connection-pool.js';
import type {Hop} from './http-request.js';
import type {OriginConnection, OutgoingMessage, ResponseReceiver} from './origin-connection.js';
import {formatRequestHead} from './request-head.js';
import {ResponseBody} from './response-body.js';
import type {ReceivedHead} from './response-head.js';

/** Methods that may be sent twice. */
const IDEMPOTENT_METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

/**
 * One request and its response. An origin may close a keep-alive connection just when it is reused: an idempotent
 * request is then sent again. Every further attempt uses up an idle connection, so their number is bounded.
 */
export class SentRequest implements ResponseReceiver {
	readonly body = new ResponseBody();
	/** The head of the response. */
	readonly head: Promise<ReceivedHead>;
	readonly #route: Route;
	readonly #pool: ConnectionPool;
	readonly #message: OutgoingMessage;
	#resolve!: (head: ReceivedHead) => void;
	#reject!: (error: Error) => void;
	#connection: OriginConnection | undefined;
	#isAborted = false;

	constructor(hop: Hop, route: Route, pool: ConnectionPool) {
		this.#route = route;
		this.#pool = pool;
		this.#message = {
			method: hop.method,
			head: formatRequestHead(hop, route.toRequestTarget(hop.url), route.proxyHeaders),
			body: hop.body,
			closesConnection: hop.headers.some(([name, value]) => name === 'connection' && /close/i.test(value)),
		};
		this.head = new Promise((resolve, reject) => {
			this.#resolve = resolve;
			this.#reject = reject;
		});
		this.#send();
	}

	/** Gives it up: closes the connection unless the response is complete. Bytes of the body that came can be taken. */
	abort(): void {
		this.#isAborted = true;
		this.#connection?.destroy(new Error('given up'));
	}

	onHead(head: ReceivedHead): void {
		this.body.connection = this.#connection;
		this.#resolve(head);
	}

	onBody(bytes: Buffer): boolean {
		return this.body.push(bytes);
	}

	onEnd(): void {
		this.#release();
		this.body.end();
	}

	onFailure(error: Error): void {
		const isStale = this.#connection?.isPossiblyStale && isHangUp(error) && !this.#isAborted;
		this.#release();
		if (isStale && IDEMPOTENT_METHODS.has(this.#message.method)) return this.#send();
		this.body.end(error);
		this.#reject(error);
	}

	#send(): void {
		this.#connection = this.#pool.send(this.#route, this.#message, this);
	}

	#release(): void {
		this.#connection = undefined;
		this.body.connection = undefined;
	}
}

function isHangUp(error: Error): boolean {
	return ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '');
}
