import {type IncomingMessage, request as requestHttp} from 'node:http';
import {request as requestHttps} from 'node:https';
import {Readable} from 'node:stream';
import {pipeline} from 'node:stream/promises';
import type {ItemLogs, ItemsForm} from '../../../jobs/hub/hub-jobs.js';
import type {JobSubmission} from '../../../jobs/hub/submitted-job.js';
import type {ListedJob} from '../../../jobs/output/job-summary.js';
import {LongarmError} from '../../../shared/errors.js';
import {parseRegistryUrl} from '../../../transports/node/relay/registry-client.js';
import {RegistryError, refusedByRegistry} from '../../../transports/node/relay/registry-errors.js';
import {requireSecureRegistry} from '../../../transports/node/relay/secure-registry.js';
import {secureSocketOptions} from '../../../transports/node/relay/secure-socket.js';
import {retryUnreached} from '../../../transports/node/relay/unreached.js';
import type {TlsOptions} from '../../../transports/node/tls-trust.js';
import type {OptionValues} from '../../command-definition.js';
import {usageError} from '../../exit-codes.js';
import {type FoundHub, findHub} from '../env/find-hub.js';

export const HUB_VARIABLE = 'LONGARM_HUB';
/** The hub has so long for the beginning of an answer; a job with many rows is on its disks then. */
const ANSWER_MS = 120_000;
/** How long questions are repeated while no hub is reached. */
const UNREACHED_RETRY_MS = 10_000;
/** Enough for ten thousand jobs. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** Characters of a refusal that are told. */
const MAX_REFUSAL_CHARS = 4096;
const MIN_PREFIX = 4;
const LIST_HINT = 'longarm job list shows the jobs of the hub.';
const ITEM_HINT =
	'longarm job export writes the ids of all items. Output is kept of attempts that have ended, unless the job was submitted with --logs failed or none.';
const FULL_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Requests about jobs to one hub. */
export class JobsClient {
	readonly #base: URL;
	readonly #token: string | undefined;
	readonly #tls: TlsOptions;

	/** The hub of `--hub`, a URL or a name of the configuration. */
	static async open(options: OptionValues): Promise<JobsClient> {
		const hub = (options['hub'] as string | undefined) ?? process.env[HUB_VARIABLE];
		if (hub === undefined || hub === '') {
			throw usageError(
				`say which hub with --hub URL, or --hub NAME of an environment behind it, or with ${HUB_VARIABLE}`,
			);
		}
		return new JobsClient(await findHub({hub, tokenFile: options['tokenFile'] as string | undefined}));
	}

	private constructor({url, access}: FoundHub) {
		this.#base = parseRegistryUrl(url);
		this.#token = access.token();
		if (this.#token !== undefined) requireSecureRegistry(this.#base);
		this.#tls = access.tls ?? {};
	}

	/** Settles with the id when the job is durable. */
	async submit(job: JobSubmission, rows: AsyncIterable<Uint8Array>): Promise<string> {
		async function* upload() {
			yield Buffer.from(`${JSON.stringify(job)}\n`);
			yield* rows;
		}
		const {job_id: jobId} = (await this.#askJson('/jobs', upload())) as {job_id: string};
		if (FULL_ID.test(jobId)) return jobId;
		throw new RegistryError('the hub has answered with an id that is none');
	}

	async list(): Promise<readonly ListedJob[]> {
		return ((await this.#askJson('/jobs')) as {jobs: ListedJob[]}).jobs;
	}

	async find(jobId: string): Promise<ListedJob> {
		return (await this.#askJson(`/jobs/${jobId}`)) as ListedJob;
	}

	async readLogs(jobId: string, itemId: string): Promise<ItemLogs> {
		const path = `/jobs/${jobId}/logs?item=${encodeURIComponent(itemId)}`;
		return (await this.#askJson(path, undefined, ITEM_HINT)) as ItemLogs;
	}

	async cancel(jobId: string, drainMs: number): Promise<void> {
		const body = Buffer.from(JSON.stringify({drain_ms: drainMs}));
		await this.#askJson(`/jobs/${jobId}/cancel`, Readable.from([body]));
	}

	/** Bytes of the output so far. */
	async readItems(jobId: string, form: ItemsForm): Promise<AsyncIterable<Uint8Array>> {
		const ask = (): Promise<IncomingMessage> => this.#ask(`/jobs/${jobId}/items?form=${form}`);
		return retryUnreached(ask, {limitMs: UNREACHED_RETRY_MS});
	}

	/** The id that a beginning stands for. */
	async resolveId(given: string): Promise<string> {
		if (FULL_ID.test(given)) return given;
		const jobs = given.length < MIN_PREFIX ? [] : await this.list();
		// The id becomes a part of names of files.
		const found = jobs.map(({job_id: id}) => id).filter(id => FULL_ID.test(id) && id.startsWith(given));
		if (found.length === 1) return found[0]!;
		const message = found.length === 0 ? `the hub has no job \`${given}\`` : `several jobs begin with \`${given}\``;
		throw new LongarmError('JOB_UNKNOWN', {message, context: {given}, hint: LIST_HINT});
	}

	async #askJson(path: string, body?: AsyncIterable<Uint8Array>, hint?: string): Promise<unknown> {
		const read = async (): Promise<string> => readText(await this.#ask(path, body, hint));
		// A body can be read once, and a job must not be begun twice.
		return JSON.parse(await (body ? read() : retryUnreached(read, {limitMs: UNREACHED_RETRY_MS})));
	}

	/** A successful answer. Throws `USAGE_WRONG` for a job that cannot be used, `JOB_UNKNOWN`, or a `RegistryError`. */
	async #ask(path: string, body?: AsyncIterable<Uint8Array>, hint = LIST_HINT): Promise<IncomingMessage> {
		const url = new URL(this.#base);
		const [pathname, search = ''] = path.split('?');
		url.pathname = `${url.pathname.replace(/\/+$/, '')}${pathname}`;
		url.search = search;
		const response = await this.#exchange(url, body);
		const {statusCode: status = 0} = response;
		if (status >= 200 && status < 300) return response;
		const text = await readText(response);
		const {code, message} = readRefusal(text);
		if (code === 'job_unusable') throw usageError(message);
		if (status !== 404) throw refusedByRegistry(status, text);
		const isOff = message === 'there is nothing here';
		throw new LongarmError('JOB_UNKNOWN', {
			message: isOff ? 'the hub takes no jobs: it was started without --jobs' : message,
			hint: isOff ? 'Start the hub with longarm hub --jobs, or run the job from here with longarm fanout.' : hint,
		});
	}

	async #exchange(url: URL, body: AsyncIterable<Uint8Array> | undefined): Promise<IncomingMessage> {
		try {
			const secure = await secureSocketOptions(url, this.#tls, {timeoutMs: ANSWER_MS});
			const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
				method: body ? 'POST' : 'GET',
				headers: this.#token === undefined ? {} : {authorization: `Bearer ${this.#token}`},
				timeout: ANSWER_MS,
				...(!secure.createConnection && {agent: false}),
				...secure,
			});
			request.on('timeout', () => request.destroy(new Error('the hub does not answer')));
			const answered = new Promise<IncomingMessage>((resolve, reject) => {
				request.on('response', resolve);
				request.on('error', reject);
			});
			if (body) await Promise.race([pipeline(body, request), answered]);
			else request.end();
			return await answered;
		} catch (cause) {
			// Of rows that cannot be read it is the input that is told.
			if (cause instanceof LongarmError || (cause as Error).name === 'JobInputError') throw cause;
			throw new RegistryError(`the hub at ${url.host} cannot be asked: ${(cause as Error).message}`, {cause});
		}
	}
}

async function readText(response: IncomingMessage): Promise<string> {
	const chunks: Buffer[] = [];
	let bytes = 0;
	try {
		for await (const chunk of response as AsyncIterable<Buffer>) {
			bytes += chunk.length;
			if (bytes > MAX_ANSWER_BYTES) throw new RegistryError(`the answer is longer than ${MAX_ANSWER_BYTES} bytes`);
			chunks.push(chunk);
		}
	} catch (cause) {
		if (cause instanceof RegistryError) throw cause;
		throw new RegistryError(`the answer of the hub was cut off: ${(cause as Error).message}`, {cause});
	}
	return Buffer.concat(chunks).toString();
}

function readRefusal(text: string): {code: string; message: string} {
	try {
		const {error} = JSON.parse(text) as {error?: {code?: unknown; message?: unknown}};
		const [code, message] = [error?.code, error?.message];
		return {
			code: typeof code === 'string' ? code : '',
			message: typeof message === 'string' ? message.slice(0, MAX_REFUSAL_CHARS) : '',
		};
	} catch {
		return {code: '', message: ''};
	}
}
