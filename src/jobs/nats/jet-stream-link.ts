import {setMaxListeners} from 'node:events';
import type {
	ApiError,
	ConsumerConfig,
	ConsumerInfo,
	JetStreamApiError,
	JetStreamClient,
	JetStreamManager,
	StoredMsg,
	StreamConfig,
} from '@nats-io/jetstream';
import type {MsgHdrs, NatsConnection} from '@nats-io/transport-node';
import type {NatsLink} from '../../hub/nats/nats-link.js';
import {loadJetStream, loadTransport} from '../../hub/nats/nats-modules.js';
import {waitAtMost} from '../../shared/async/timeout.js';
import {LongarmError} from '../../shared/errors.js';

/** Time a broker has for an answer before it is asked again. */
const REQUEST_MS = 3000;
/** The most for a list of subjects, for which it may have to read its files: each time twice as long. */
const MAX_LIST_MS = 60_000;
const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 2000;
/** Copies of a stream, as far as there are brokers for them. */
const MAX_REPLICAS = 3;
const UNAVAILABLE = 503;
/** Codes of the API. */
const WRONG_LAST_SEQUENCE: readonly number[] = [10_071, 10_164];
const CONSUMER_NOT_FOUND = 10_014;
const NOT_CLUSTERED = 10_074;
const NO_PEERS = 10_005;
/** The first of two messages with the same id is not stored yet. */
const ID_IN_PROCESS = 10_158;
/** No answer in time, nobody who listens at the moment, or a connection that is being made again. */
const PASSING_ERRORS: ReadonlySet<string> = new Set([
	'TimeoutError',
	'RequestError',
	'NoRespondersError',
	'JetStreamNotEnabled',
	'JetStreamError',
	'DisconnectedError',
]);
const PER_SUBJECT = /maximum messages per subject exceeded/;
const FULL = /maximum (?:bytes|messages) exceeded/;

/** Outcome of a publication. */
export type Published =
	| {readonly kind: 'stored'; readonly seq: number; readonly isDuplicate: boolean}
	/** There is one with this subject already, or another sequence than expected. */
	| {readonly kind: 'exists'}
	/** The stream has no room. */
	| {readonly kind: 'full'};

export interface PublishOptions {
	/** Tells a repeated message from a new one. */
	readonly msgId?: string | undefined;
	/** Sequence of the last message of the subject; 0 for none. */
	readonly expectedLast?: number | undefined;
	readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Which message: the one with this sequence, the last one of a subject, or the next one of a subject from a sequence on. */
export type MessageQuery = {readonly seq: number; readonly next_by_subj?: string} | {readonly last_by_subj: string};

/** Some of the subjects of a stream. */
export interface SubjectPage {
	readonly subjects: readonly string[];
	/** Number of all of them. */
	readonly total: number;
}

interface SubjectAnswer {
	readonly error?: ApiError;
	readonly total?: number;
	readonly state?: {readonly subjects?: Readonly<Record<string, number>>};
}

/** JetStream over one connection. Requests are repeated until a broker answers them or the link is closed. */
export class JetStreamLink {
	readonly #nats: NatsLink;
	readonly #client: JetStreamClient;
	readonly #manager: JetStreamManager;
	readonly #closed = new AbortController();

	/** The connection stays the caller's. */
	static async open(nats: NatsLink): Promise<JetStreamLink> {
		const {jetstream, jetstreamManager} = loadJetStream();
		const manager = await jetstreamManager(nats.connection, {checkAPI: false, timeout: REQUEST_MS});
		return new JetStreamLink(nats, jetstream(nats.connection, {timeout: REQUEST_MS}), manager);
	}

	private constructor(nats: NatsLink, client: JetStreamClient, manager: JetStreamManager) {
		this.#nats = nats;
		// Requests of all jobs listen to it.
		setMaxListeners(0, this.#closed.signal);
		this.#client = client;
		this.#manager = manager;
	}

	get connection(): NatsConnection {
		return this.#nats.connection;
	}

	/** Aborted when the link is closed. */
	get closed(): AbortSignal {
		return this.#closed.signal;
	}

	/** Ends all requests that are under way; the connection stays open. */
	close(): void {
		this.#closed.abort(new LongarmError('JOB_UNUSABLE', {message: 'the link to the job queue is closed'}));
	}

	async publish(subject: string, data: Uint8Array | string, options: PublishOptions = {}): Promise<Published> {
		const {msgId, expectedLast} = options;
		const given = {
			...(msgId !== undefined && {msgID: msgId}),
			...(expectedLast !== undefined && {expect: {lastSubjectSequence: expectedLast}}),
		};
		try {
			const {seq, duplicate} = await this.#retry(() =>
				this.#client.publish(subject, data, {...given, headers: toHeaders(options.headers)}),
			);
			return {kind: 'stored', seq, isDuplicate: duplicate};
		} catch (error) {
			if (!isApiError(error)) throw error;
			if (WRONG_LAST_SEQUENCE.includes(error.code) || PER_SUBJECT.test(error.message)) return {kind: 'exists'};
			if (FULL.test(error.message)) return {kind: 'full'};
			throw error;
		}
	}

	/** Creates the stream, or takes the one that is there. */
	async ensureStream(config: Partial<StreamConfig> & {readonly name: string}): Promise<void> {
		for (let replicas = this.#nats.isClustered ? MAX_REPLICAS : 1; ; replicas--) {
			try {
				await this.#retry(() => this.#addStream({...config, num_replicas: replicas}));
				return;
			} catch (error) {
				const isTooMany = isApiError(error) && [NOT_CLUSTERED, NO_PEERS].includes(error.code);
				if (!isTooMany || replicas === 1) throw error;
			}
		}
	}

	/** Creates the consumer, or takes the one that is there. */
	ensureConsumer(stream: string, config: Partial<ConsumerConfig>): Promise<ConsumerInfo> {
		return this.#retry(() => this.#manager.consumers.add(stream, config));
	}

	/** Undefined if there is none. */
	async findConsumer(stream: string, name: string): Promise<ConsumerInfo | undefined> {
		return this.#unlessMissing(() => this.#manager.consumers.info(stream, name));
	}

	async deleteConsumer(stream: string, name: string): Promise<void> {
		await this.#unlessMissing(() => this.#manager.consumers.delete(stream, name));
	}

	async purge(stream: string, subject: string): Promise<void> {
		await this.#retry(() => this.#manager.streams.purge(stream, {filter: subject}));
	}

	/** Undefined if there is no such message. */
	async findMessage(stream: string, query: MessageQuery): Promise<StoredMsg | undefined> {
		return (await this.#retry(() => this.#manager.streams.getMessage(stream, query))) ?? undefined;
	}

	/** Subjects of messages in a stream, as its leader has them: those from a number on, some at a time, and how many there are. */
	async listSubjects(stream: string, filter: string, from: number): Promise<SubjectPage> {
		let timeout = REQUEST_MS / 2;
		return this.#retry(async () => {
			timeout = Math.min(2 * timeout, MAX_LIST_MS);
			const asked = JSON.stringify({subjects_filter: filter, offset: from});
			const answer = await this.connection.request(`$JS.API.STREAM.INFO.${stream}`, asked, {timeout});
			const {error, total = 0, state} = answer.json<SubjectAnswer>();
			if (error) throw new (loadJetStream().JetStreamApiError)(error);
			return {subjects: Object.keys(state?.subjects ?? {}), total};
		});
	}

	/** Names of all streams that begin so. */
	async listStreams(prefix: string): Promise<readonly string[]> {
		return this.#retry(async () => {
			const found: string[] = [];
			for await (const name of this.#manager.streams.names(`>`)) if (name.startsWith(prefix)) found.push(name);
			return found;
		});
	}

	async #addStream(config: Partial<StreamConfig> & {readonly name: string}): Promise<void> {
		const known = await this.#manager.streams.info(config.name).catch((error: unknown) => {
			if (isPassing(error)) throw error;
			return undefined;
		});
		if (!known) await this.#manager.streams.add(config);
	}

	async #unlessMissing<T>(work: () => Promise<T>): Promise<T | undefined> {
		try {
			return await this.#retry(work);
		} catch (error) {
			if (isApiError(error) && error.code === CONSUMER_NOT_FOUND) return undefined;
			throw error;
		}
	}

	/** A broker that is gone, or elects a leader, comes back; everything that is asked here may be asked twice. */
	async #retry<T>(work: () => Promise<T>): Promise<T> {
		for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(2 * waitMs, MAX_RETRY_MS)) {
			this.closed.throwIfAborted();
			const expected = this.#nats.expect();
			try {
				return await work().finally(expected);
			} catch (error) {
				if (!isPassing(error) || this.connection.isClosed()) throw error;
				await waitAtMost(new Promise(() => {}), waitMs, this.closed);
			}
		}
	}
}

function isApiError(error: unknown): error is JetStreamApiError {
	return error instanceof loadJetStream().JetStreamApiError;
}

/** Whether the same request may succeed later. */
function isPassing(error: unknown): boolean {
	if (isApiError(error)) {
		if (error.code === ID_IN_PROCESS) return true;
		return error.status === UNAVAILABLE && !/maximum|store failed/.test(error.message);
	}
	return PASSING_ERRORS.has((error as Error).name);
}

function toHeaders(given: Readonly<Record<string, string>> = {}): MsgHdrs {
	const made = loadTransport().headers();
	for (const [name, value] of Object.entries(given)) made.set(name, value);
	return made;
}
