import {setTimeout as delay} from 'node:timers/promises';
import {decodeLoad} from '../../protocol/relay/executor-offer.js';
import {encodeRelayFrame, peekRelayFrame} from '../../protocol/relay/relay-frame.js';
import {MAX_MESSAGE_BYTES} from '../../protocol/wire/message-limits.js';
import {findSurplus} from '../../shared/fair-share.js';
import {PROTOCOL_ERROR} from '../../transports/relay/channel-transport.js';
import {TOKEN_RATE} from '../access/hub-access.js';
import {RateLimit} from '../access/rate-limit.js';
import {PendingPicks} from '../pools/pending-picks.js';
import {DEFAULT_TENANT, type EnvironmentPlace, keyOfPlace} from '../store/hub-records.js';
import type {ExecutorEnd, HarnessEnd, RelaySocket} from './relay-ends.js';
import {isClientStreamId} from './stream-ids.js';

/** Streams of one executor, as many as a stock one takes. */
export const MAX_STREAMS_PER_EXECUTOR = 128;
/** Sockets of clients of one executor, with a stream or not yet. */
export const MAX_HARNESSES_PER_EXECUTOR = 256;
/** Bytes that wait for a client; beyond them its streams are reset, and its session resumes. The longest message has to fit. */
export const MAX_HARNESS_BACKLOG_BYTES = MAX_MESSAGE_BYTES + 8 * 1024 * 1024;
/** A client with more than this waiting is slow; all slow ones together may have so much before one of them is reset. */
export const MAX_FAST_HARNESS_BACKLOG_BYTES = 4 * 1024 * 1024;
export const MAX_SLOW_HARNESSES_BACKLOG_BYTES = 512 * 1024 * 1024;
/** Bytes that wait for the only client of an executor; beyond them the executor is not read, which harms nobody else. */
export const MAX_ONLY_HARNESS_BACKLOG_BYTES = 1024 * 1024;
/** Bytes that wait for an executor; beyond them its clients are not read. */
export const MAX_EXECUTOR_BACKLOG_BYTES = 4 * 1024 * 1024;
/** Executors that are disconnected at once when the hub ends, and the pause before the next ones. */
const CLOSED_AT_ONCE = 100;
const CLOSING_PAUSE_MS = 20;
/** Close codes of WebSocket. */
const GOING_AWAY = 1001;
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;

/** Who comes in, as its ticket says. */
export interface JoiningEnd extends EnvironmentPlace {
	readonly registrationId: string;
	readonly tokenId: string;
}

export interface RelayEvents {
	/** An executor came or went. */
	changed(executor: ExecutorEnd, isOnline: boolean): void;
	/** It has more or fewer streams, or has told its load. */
	loadChanged?(executor: ExecutorEnd): void;
}

/**
 * Passes frames between executors and clients as they are. It looks at the stream id and the kind of a frame only: contents are
 * encrypted end to end.
 */
export class Relay {
	readonly #events: RelayEvents;
	readonly #executors = new Map<string, ExecutorEnd>();
	readonly #byRegistration = new Map<string, ExecutorEnd>();
	/** Clients that had much waiting when it was last looked at. */
	readonly #slow = new Set<HarnessEnd>();
	/** Streams that clients of one token claim at one executor: each costs it a handshake. */
	readonly #claims = new RateLimit(TOKEN_RATE);
	#forwardedBytes = 0;

	constructor(events: RelayEvents) {
		this.#events = events;
	}

	get forwardedBytes(): number {
		return this.#forwardedBytes;
	}

	executors(): Iterable<ExecutorEnd> {
		return this.#executors.values();
	}

	/** The executor that is connected for an environment. */
	findExecutor(environmentId: string, tenant = DEFAULT_TENANT): ExecutorEnd | undefined {
		return this.#executors.get(keyOfPlace({tenant, environmentId}));
	}

	/** The executor that is connected with a registration. */
	findRegistration(registrationId: string): ExecutorEnd | undefined {
		return this.#byRegistration.get(registrationId);
	}

	/** A new socket of an executor takes the place of the former one, whose clients connect again. */
	addExecutor({tenant, environmentId, registrationId, tokenId}: JoiningEnd, socket: RelaySocket): ExecutorEnd {
		const former = this.findExecutor(environmentId, tenant);
		if (former) this.removeExecutor(former);
		const executor: ExecutorEnd = {
			tenant,
			environmentId,
			registrationId,
			tokenId,
			socket,
			harnesses: new Set<HarnessEnd>(),
			streams: new Map<string, HarnessEnd>(),
			held: new Set<HarnessEnd>(),
			load: undefined,
			picks: new PendingPicks(),
			since: performance.now(),
		};
		this.#executors.set(keyOfPlace(executor), executor);
		this.#byRegistration.set(registrationId, executor);
		this.#events.changed(executor, true);
		return executor;
	}

	/** Its socket is gone, or has to go: all clients are disconnected. */
	removeExecutor(executor: ExecutorEnd): void {
		executor.socket.close(GOING_AWAY);
		for (const harness of executor.harnesses) harness.socket.close(GOING_AWAY);
		for (const harness of executor.harnesses) this.#slow.delete(harness);
		executor.harnesses.clear();
		executor.streams.clear();
		executor.held.clear();
		const key = keyOfPlace(executor);
		if (this.#executors.get(key) !== executor) return;
		this.#executors.delete(key);
		this.#byRegistration.delete(executor.registrationId);
		this.#events.changed(executor, false);
	}

	/** A text message of an executor, which tells its load; any other is passed by. */
	receiveText(executor: ExecutorEnd, text: string): void {
		const load = decodeLoad(text);
		if (!load) return;
		executor.load = load;
		this.#events.loadChanged?.(executor);
	}

	/** Undefined if the executor has as many clients as it may; tokens that have more of them make room for others. */
	addHarness(executor: ExecutorEnd, tokenId: string, socket: RelaySocket): HarnessEnd | undefined {
		if (executor.harnesses.size >= MAX_HARNESSES_PER_EXECUTOR) {
			const surplus = findSurplus(executor.harnesses, harness => harness.tokenId, tokenId);
			if (!surplus) return undefined;
			this.removeHarness(surplus);
			surplus.socket.close(TRY_AGAIN_LATER);
		}
		const harness = {executor, tokenId, socket, streams: new Set<string>()};
		executor.harnesses.add(harness);
		// It may have been held back for the one that was alone until now.
		executor.socket.resume();
		return harness;
	}

	/** The client is gone: the executor detaches its sessions at once, so that they can be resumed. */
	removeHarness(harness: HarnessEnd): void {
		for (const streamId of harness.streams) this.#resetAtExecutor(harness.executor, streamId);
		if (harness.streams.size > 0) this.#events.loadChanged?.(harness.executor);
		harness.streams.clear();
		harness.executor.held.delete(harness);
		this.#slow.delete(harness);
		if (harness.executor.harnesses.delete(harness)) harness.executor.socket.resume();
	}

	/** A client takes more. */
	harnessDrained({executor, socket}: HarnessEnd): void {
		if (socket.backlog <= MAX_ONLY_HARNESS_BACKLOG_BYTES) executor.socket.resume();
	}

	/** Disconnects those whose tokens are no longer good. */
	disconnectRevoked(isGood: (tokenId: string) => boolean): void {
		for (const executor of this.#executors.values()) {
			if (!isGood(executor.tokenId)) {
				this.removeExecutor(executor);
				continue;
			}
			for (const harness of executor.harnesses) if (!isGood(harness.tokenId)) harness.socket.close(POLICY_VIOLATION);
		}
	}

	/** One message of a client. A frame against the rules ends its connection. */
	receiveFromHarness(harness: HarnessEnd, bytes: Uint8Array): void {
		const {executor} = harness;
		const frame = peek(bytes);
		if (!frame || !this.#isClaimed(harness, frame)) {
			harness.socket.close(POLICY_VIOLATION);
			return;
		}
		this.#forwardedBytes += bytes.length;
		executor.socket.send(bytes);
		if (frame.kind === 'reset') this.#release(harness, frame.streamId);
		if (executor.socket.backlog <= MAX_EXECUTOR_BACKLOG_BYTES) return;
		executor.held.add(harness);
		harness.socket.pause();
	}

	/** The executor takes more. */
	executorDrained({held}: ExecutorEnd): void {
		for (const harness of held) harness.socket.resume();
		held.clear();
	}

	/** One message of an executor; frames of streams that nobody has are answered by a reset. */
	receiveFromExecutor(executor: ExecutorEnd, bytes: Uint8Array): void {
		const frame = peek(bytes);
		if (!frame) return;
		const harness = executor.streams.get(frame.streamId);
		if (!harness) {
			if (frame.kind !== 'reset') this.#resetAtExecutor(executor, frame.streamId);
			return;
		}
		this.#forwardedBytes += bytes.length;
		harness.socket.send(bytes);
		if (frame.kind === 'reset') this.#release(harness, frame.streamId);
		const {backlog} = harness.socket;
		if (backlog > MAX_ONLY_HARNESS_BACKLOG_BYTES && executor.harnesses.size === 1) executor.socket.pause();
		// Frames are never dropped alone: the stream is reset on both sides.
		const slowest = backlog > MAX_FAST_HARNESS_BACKLOG_BYTES ? this.#findTooSlow(harness) : undefined;
		if (!slowest) return;
		this.removeHarness(slowest);
		slowest.socket.destroy(new Error('the client reads too slowly'));
	}

	/** Disconnects some of the executors that have no clients: they come back at another node. */
	disconnectIdle(): void {
		const idle = [...this.#executors.values()].filter(({harnesses}) => harnesses.size === 0);
		for (const executor of idle.slice(0, CLOSED_AT_ONCE)) this.removeExecutor(executor);
	}

	/** Disconnects everybody, for an orderly end: a few at a time, so that they do not all come back at once. */
	async close(): Promise<void> {
		const executors = [...this.#executors.values()];
		for (const [index, executor] of executors.entries()) {
			if (index > 0 && index % CLOSED_AT_ONCE === 0) await delay(CLOSING_PAUSE_MS);
			this.removeExecutor(executor);
		}
	}

	/** The first frame of a stream claims its id for the socket it came over. */
	#isClaimed(harness: HarnessEnd, {streamId, kind}: {readonly streamId: string; readonly kind: string}): boolean {
		const {executor} = harness;
		const holder = executor.streams.get(streamId);
		if (holder) return holder === harness;
		if (kind !== 'resume' || !isClientStreamId(streamId)) return false;
		if (!this.#claims.take(`${executor.registrationId} ${harness.tokenId}`)) return false;
		if (executor.streams.size >= MAX_STREAMS_PER_EXECUTOR && !this.#freeStream(executor, harness.tokenId)) return false;
		executor.streams.set(streamId, harness);
		harness.streams.add(streamId);
		this.#events.loadChanged?.(executor);
		return true;
	}

	/** Resets a stream of the token that has most of them; false if that is the token of the newcomer. */
	#freeStream(executor: ExecutorEnd, newcomer: string): boolean {
		const surplus = findSurplus(executor.streams, ([, {tokenId}]) => tokenId, newcomer);
		if (!surplus) return false;
		const [streamId, harness] = surplus;
		harness.streams.delete(streamId);
		harness.socket.send(encodeRelayFrame({streamId, body: {kind: 'reset', reason: PROTOCOL_ERROR}}));
		this.#resetAtExecutor(executor, streamId);
		return true;
	}

	/**
	 * The client that has to go because it has more waiting than it may, or because all together have: then it is one of the
	 * token that has most waiting.
	 */
	#findTooSlow(harness: HarnessEnd): HarnessEnd | undefined {
		if (harness.socket.backlog > MAX_HARNESS_BACKLOG_BYTES) return harness;
		this.#slow.add(harness);
		const byToken = new Map<string, number>();
		for (const each of this.#slow) {
			const {backlog} = each.socket;
			if (backlog > MAX_FAST_HARNESS_BACKLOG_BYTES)
				byToken.set(each.tokenId, (byToken.get(each.tokenId) ?? 0) + backlog);
			else this.#slow.delete(each);
		}
		const sum = [...byToken.values()].reduce((one, other) => one + other, 0);
		if (sum <= MAX_SLOW_HARNESSES_BACKLOG_BYTES) return undefined;
		const most = Math.max(...byToken.values());
		return [...this.#slow].find(({tokenId}) => byToken.get(tokenId) === most);
	}

	#release(harness: HarnessEnd, streamId: string): void {
		harness.streams.delete(streamId);
		harness.executor.streams.delete(streamId);
		this.#events.loadChanged?.(harness.executor);
	}

	#resetAtExecutor(executor: ExecutorEnd, streamId: string): void {
		executor.streams.delete(streamId);
		executor.socket.send(encodeRelayFrame({streamId, body: {kind: 'reset', reason: PROTOCOL_ERROR}}));
	}
}

function peek(bytes: Uint8Array): ReturnType<typeof peekRelayFrame> | undefined {
	try {
		return peekRelayFrame(bytes);
	} catch {
		return undefined;
	}
}
