import type {IncomingMessage, ServerResponse} from 'node:http';
import type {HubAccess} from '../../hub/access/hub-access.js';
import {HubRefusal, readJsonBody, sendJson} from '../../hub/http-exchange.js';
import type {HubExtension} from '../../hub/hub-extension.js';
import type {RegistrationRecord, TokenRecord} from '../../hub/store/hub-records.js';
import {FairPlaces, type PlaceOwner} from '../../shared/async/fair-places.js';
import type {Logger} from '../../shared/logger.js';
import type {MetricsRegistry} from '../../shared/metrics.js';
import {compileSchema} from '../engine/result-schema.js';
import {JobInputError} from '../input/job-input-error.js';
import {selectExecutors} from './hub-executors.js';
import type {HubJobs, ItemsForm} from './hub-jobs.js';
import {coversJob} from './job-scope.js';
import type {JobStalls} from './job-stalls.js';
import {readSubmission} from './submitted-job.js';
import {splitUpload} from './upload.js';

const PREFIX = '/jobs';
/** Uploads at once, of all clients; half of them of one tenant, and a quarter with one token. */
const MAX_UPLOADS = 64;
/** Lists of items and logs that are being read at once, shared in the same way. */
const MAX_DOWNLOADS = 128;
const MAX_REASON_CHARS = 1000;
const MAX_DRAIN_MS = 24 * 3_600_000;
const DEFAULT_DRAIN_MS = 10_000;
const ID_AND_PART = /^\/jobs\/([0-9a-f-]{36})(?:\/(items|logs|cancel))?$/;
const TYPES: Readonly<Record<ItemsForm, string>> = {csv: 'text/csv; charset=utf-8', jsonl: 'application/jsonl'};

export interface JobRoutesOptions {
	readonly jobs: HubJobs;
	readonly stalls: JobStalls;
	readonly access: HubAccess;
	readonly listRegistrations: (tenant: string) => Promise<readonly RegistrationRecord[]>;
	readonly logger: Logger;
}

interface Exchange {
	readonly request: IncomingMessage;
	readonly response: ServerResponse;
	readonly query: URLSearchParams;
	readonly token: TokenRecord;
}

/**
 * `POST /jobs`, `GET /jobs`, `GET /jobs/ID`, `GET /jobs/ID/items`, `GET /jobs/ID/logs` and `POST /jobs/ID/cancel`, for tokens of
 * clients. A token sees jobs of its tenant that use no environment beyond its pattern.
 */
export class JobRoutes implements HubExtension {
	readonly #options: JobRoutesOptions;
	readonly #uploads = new FairPlaces(MAX_UPLOADS);
	readonly #downloads = new FairPlaces(MAX_DOWNLOADS);
	#closing: Promise<void> | undefined;

	constructor(options: JobRoutesOptions) {
		this.#options = options;
	}

	owns(path: string): boolean {
		return isJobPath(path);
	}

	async handle(
		request: IncomingMessage,
		response: ServerResponse,
		path: string,
		query: URLSearchParams,
	): Promise<void> {
		const token = await this.#options.access.requireToken(request, 'client');
		const exchange = {request, response, query, token};
		try {
			if (path === PREFIX) await this.#answerList(exchange);
			else await this.#answerJob(exchange, path);
		} catch (error) {
			if (error instanceof JobInputError) throw new HubRefusal(400, 'job_unusable', error.message);
			throw error;
		}
	}

	addMetrics(registry: MetricsRegistry, tenant?: string): void {
		this.#options.stalls.addMetrics(registry, tenant);
	}

	close(): Promise<void> {
		this.#closing ??= this.#options.jobs.close();
		return this.#closing;
	}

	async #answerList(exchange: Exchange): Promise<void> {
		const {request, response, token} = exchange;
		if (request.method === 'POST') return this.#submit(exchange);
		requireMethod(request, 'GET');
		const {jobs} = this.#options;
		const listed = await jobs.list(token.tenant);
		const isSeen = await Promise.all(listed.map(({job_id: id}) => this.#maySee(token, id)));
		sendJson(response, 200, {jobs: listed.filter((_, index) => isSeen[index])});
	}

	async #maySee(token: TokenRecord, jobId: string): Promise<boolean> {
		const scope = await this.#options.jobs.findScope(token.tenant, jobId);
		return scope !== undefined && coversJob(token, scope);
	}

	/** Of a job beyond its pattern a token does not learn that there is one. */
	async #requireSeen(token: TokenRecord, jobId: string): Promise<void> {
		if (!(await this.#maySee(token, jobId))) throw unknownJob();
	}

	async #submit(exchange: Exchange): Promise<void> {
		const submitted = this.#uploads.tryRun(ownerOf(exchange.token), () => this.#takeUpload(exchange));
		if (!submitted) throw new HubRefusal(503, 'unavailable', 'too many jobs are being submitted');
		await submitted;
	}

	async #takeUpload({request, response, token}: Exchange): Promise<void> {
		const {jobs, listRegistrations, logger} = this.#options;
		const {head, rows} = await splitUpload(request);
		const {id, pattern, tenant} = token;
		const job = readSubmission(head, {token: id, pattern});
		selectExecutors(job.executors, await listRegistrations(tenant), pattern);
		// After everything that is quick to tell: it takes a thread, and may take seconds.
		if (job.rules.schema !== undefined) await compileSchema(job.rules.schema, tenant);
		const jobId = await jobs.submit(tenant, job, rows);
		logger.info('a job was submitted', {job: jobId, tenant, token: id});
		sendJson(response, 201, {job_id: jobId});
	}

	async #answerJob(exchange: Exchange, path: string): Promise<void> {
		const {request, response, token, query} = exchange;
		const [, jobId, part] = ID_AND_PART.exec(path) ?? [];
		if (jobId === undefined) throw unknownJob();
		const {jobs} = this.#options;
		requireMethod(request, part === 'cancel' ? 'POST' : 'GET');
		if (part === 'cancel') return this.#cancel(exchange, jobId);
		await this.#requireSeen(token, jobId);
		if (part === 'items') return this.#read(token, () => this.#sendItems(exchange, jobId));
		if (part === 'logs') {
			const logs = await this.#read(token, () => jobs.readLogs(token.tenant, jobId, query.get('item') ?? ''));
			if (!logs) throw new HubRefusal(404, 'not_found', 'nothing is kept of such an item');
			return sendJson(response, 200, logs);
		}
		const listed = await jobs.find(token.tenant, jobId);
		if (!listed) throw unknownJob();
		sendJson(response, 200, listed);
	}

	/** Reads of the files of a job, as many at once as the token has a share in. */
	async #read<T>(token: TokenRecord, work: () => Promise<T>): Promise<T> {
		const reading = this.#downloads.tryRun(ownerOf(token), work);
		if (!reading) throw new HubRefusal(503, 'unavailable', 'too many lists are being sent');
		return reading;
	}

	async #cancel({request, response, token}: Exchange, jobId: string): Promise<void> {
		const {reason = 'cancelled by user', drain_ms: drainMs = DEFAULT_DRAIN_MS} = await readJsonBody(request);
		const isGood = typeof reason === 'string' && reason.length <= MAX_REASON_CHARS && typeof drainMs === 'number';
		if (!isGood || !(drainMs >= 0 && drainMs <= MAX_DRAIN_MS)) {
			throw new HubRefusal(400, 'bad_request', 'expected a reason and drain_ms');
		}
		await this.#requireSeen(token, jobId);
		if (!(await this.#options.jobs.cancel(token.tenant, jobId, {reason, drainMs}))) throw unknownJob();
		sendJson(response, 202, {job_id: jobId});
	}

	/** A reader that is slow holds nothing up but its own lines. */
	async #sendItems({response, token, query}: Exchange, jobId: string): Promise<void> {
		const form = query.get('form') ?? 'jsonl';
		if (form !== 'csv' && form !== 'jsonl') throw new HubRefusal(400, 'bad_request', 'form is csv or jsonl');
		const lines = await this.#options.jobs.readItems(token.tenant, jobId, form);
		if (!lines) throw unknownJob();
		response.writeHead(200, {'content-type': TYPES[form], 'cache-control': 'no-store'});
		for await (const line of lines) {
			if (response.destroyed) return;
			if (!response.write(`${line}\n`)) await drainOf(response);
		}
		response.end();
	}
}

function ownerOf({tenant, id}: TokenRecord): PlaceOwner {
	return {group: tenant, member: id};
}

function requireMethod({method}: IncomingMessage, expected: string): void {
	if (method !== expected) throw new HubRefusal(405, 'bad_request', `only ${expected} is answered here`);
}

function unknownJob(): HubRefusal {
	return new HubRefusal(404, 'not_found', 'there is no such job');
}

function drainOf(response: ServerResponse): Promise<void> {
	return new Promise(resolve => {
		const end = (): void => {
			response.off('drain', end);
			response.off('close', end);
			resolve();
		};
		response.once('drain', end);
		response.once('close', end);
	});
}

/** Answers while the jobs of a hub that was started again are opened: they are there, and cannot be told yet. */
export const OPENING_JOBS: HubExtension = {
	owns: isJobPath,
	handle: async () => {
		throw new HubRefusal(503, 'jobs_opening', 'the hub is opening its jobs, try again');
	},
	addMetrics: () => {},
	close: async () => {},
};

function isJobPath(path: string): boolean {
	return path === PREFIX || path.startsWith(`${PREFIX}/`);
}
