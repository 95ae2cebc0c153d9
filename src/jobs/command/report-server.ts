import {timingSafeEqual} from 'node:crypto';
import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';
import {randomHex} from '../../shared/random-id.js';
import {MAX_RESULT_BYTES, type ReportCall} from '../engine/acceptance.js';
import type {JobRunner} from '../engine/job-runner.js';

const LOOPBACK = '127.0.0.1';
const SECRET_BYTES = 32;
/** A request that takes longer is dropped. */
const REQUEST_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 1024;
/** The report and the members around it. */
const MAX_BODY_BYTES = MAX_RESULT_BYTES + 64 * 1024;
const OK = 200;
const BAD_REQUEST = 400;
const FORBIDDEN = 403;
const NOT_FOUND = 404;

type Body = Readonly<Record<string, unknown>>;

/**
 * Takes reports of workers on this machine, and the wish of other programs of the user to cancel the job. Listens on
 * loopback; a report needs the token of its attempt, a cancellation the secret of the runner.
 */
export class ReportServer implements AsyncDisposable {
	readonly secret = randomHex(SECRET_BYTES);
	readonly #server: Server;
	readonly #jobId: string;
	#runner: JobRunner | undefined;

	static async listen(jobId: string): Promise<ReportServer> {
		const server = new ReportServer(jobId);
		await new Promise<void>((resolve, reject) => {
			server.#server.once('error', reject);
			server.#server.listen(0, LOOPBACK, resolve);
		});
		return server;
	}

	private constructor(jobId: string) {
		this.#jobId = jobId;
		this.#server = createServer({requestTimeout: REQUEST_TIMEOUT_MS}, (request, response) => {
			void this.#answer(request, response);
		});
		this.#server.maxConnections = MAX_CONNECTIONS;
		// Does not keep the program from ending.
		this.#server.unref();
	}

	get url(): string {
		return `http://${LOOPBACK}:${(this.#server.address() as AddressInfo).port}`;
	}

	/** Requests before this are answered as if the job did not run. */
	serve(runner: JobRunner): void {
		this.#runner = runner;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#server.closeAllConnections();
		await new Promise(resolve => this.#server.close(resolve));
	}

	async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
		try {
			const body = request.method === 'POST' ? await readBody(request) : undefined;
			if (!body) return reply(response, BAD_REQUEST, {error: 'expected a POST request with a JSON object'});
			if (request.url === '/report') return reply(response, OK, await this.#report(body));
			if (request.url !== '/cancel') return reply(response, NOT_FOUND, {error: 'unknown path'});
			if (!isSame(body['secret'], this.secret)) return reply(response, FORBIDDEN, {error: 'wrong secret'});
			const {reason} = body;
			this.#runner?.cancel(typeof reason === 'string' ? reason : 'cancelled', toDrain(body['drain_ms']));
			reply(response, OK, {cancelled: true});
		} catch (error) {
			reply(response, BAD_REQUEST, {error: (error as Error).message});
		}
	}

	async #report(body: Body) {
		const {job_id: jobId, item_id: itemId, token, result, stop} = body;
		if (jobId !== this.#jobId || typeof itemId !== 'string' || typeof token !== 'string') {
			return {accepted: false, reason: 'unknown_item'} as const;
		}
		const call: ReportCall = {itemId, token, result, stop: stop === true};
		return (await this.#runner?.report(call)) ?? ({accepted: false, reason: 'not_running'} as const);
	}
}

async function readBody(request: IncomingMessage): Promise<Body | undefined> {
	const chunks: Buffer[] = [];
	let bytes = 0;
	for await (const chunk of request) {
		bytes += (chunk as Buffer).length;
		if (bytes > MAX_BODY_BYTES) throw new Error('the request is too large');
		chunks.push(chunk as Buffer);
	}
	const value = JSON.parse(Buffer.concat(chunks).toString()) as unknown;
	return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Body) : undefined;
}

function reply(response: ServerResponse, status: number, body: object): void {
	const text = JSON.stringify(body);
	response.writeHead(status, {'content-type': 'application/json', 'content-length': Buffer.byteLength(text)});
	response.end(text);
}

function isSame(given: unknown, secret: string): boolean {
	const [one, other] = [Buffer.from(String(given)), Buffer.from(secret)];
	return one.length === other.length && timingSafeEqual(one, other);
}

function toDrain(value: unknown): number | undefined {
	return typeof value === 'number' && value >= 0 ? value : undefined;
}
