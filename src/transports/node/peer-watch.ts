import {PeerSilentError} from '../peer-silent-error.js';
import type {PeerTimes} from './peer-times.js';
import type {TcpInfo} from './tcp-info.js';

/** A connection, as far as its watch needs it. */
export interface WatchedLink {
	/** Bytes read so far. */
	readonly bytesRead: number;
	/** Bytes accepted for sending so far. */
	readonly bytesWritten: number;
	/** Accepted bytes that the kernel has not taken. */
	readonly backlog: number;
	/** Whether we have stopped reading: silence is our own doing then. */
	readonly isPaused: boolean;
	/** Undefined where the kernel does not tell. */
	readTcpInfo(): TcpInfo | undefined;
	ping(): void;
	/** Ends the connection. */
	giveUp(reason: PeerSilentError): void;
	/** The program at the other end does not read, but its machine answers. */
	stopped(): void;
}

/** Bytes on their way to the peer, to tell a slow link from a silent peer. */
interface Sending {
	/** Where everything that was queued at the first look, a ping with it, has arrived. */
	readonly target: number;
	readonly arrivedBytes: number;
	readonly progressAt: number;
	/** When it had arrived. */
	readonly deliveredAt: number | undefined;
}

/**
 * Judges one peer by what is heard from it. Each look takes a number from the socket, so nothing is done per message;
 * only a silent peer costs more. Times are of the monitor's clock, which counts only while this process runs.
 *
 * A peer is gone when its kernel acknowledges nothing, or when it leaves a ping that has arrived without an answer. One that
 * does not read, so that the ping has not arrived, may be waiting for something, and may be allowed more time.
 */
export class PeerWatch {
	readonly #link: WatchedLink;
	readonly #times: PeerTimes;
	#bytesRead: number;
	#heardAt: number;
	#pingedAt: number;
	#sending: Sending | undefined;
	/** Since when something is known to wait for the peer's kernel. */
	#unansweredSince: number | undefined;
	#isStopped = false;

	constructor(link: WatchedLink, times: PeerTimes, now: number) {
		this.#link = link;
		this.#times = times;
		this.#bytesRead = link.bytesRead;
		this.#heardAt = now;
		this.#pingedAt = now;
	}

	look(now: number): void {
		const {pingIntervalMs, peerTimeoutMs} = this.#times;
		const {bytesRead} = this.#link;
		if (bytesRead !== this.#bytesRead) {
			this.#bytesRead = bytesRead;
			this.#hear(now);
		}
		if (now - Math.max(this.#heardAt, this.#pingedAt) >= pingIntervalMs) {
			this.#pingedAt = now;
			this.#link.ping();
		}
		if (peerTimeoutMs > 0 && now - this.#heardAt > pingIntervalMs) this.#judge(now);
	}

	/** Judges nobody, asks, and leaves time for the answer: what has arrived while we were not running is not read yet. */
	listenOnceMore(now: number): void {
		this.#heardAt = Math.max(this.#heardAt, now - this.#times.peerTimeoutMs / 2);
		this.#pingedAt = now;
		this.#link.ping();
	}

	#hear(at: number): void {
		this.#heardAt = at;
		this.#sending = undefined;
		this.#unansweredSince = undefined;
		this.#isStopped = false;
	}

	#judge(now: number): void {
		const {peerTimeoutMs, stoppedPeerMs} = this.#times;
		const info = this.#link.readTcpInfo();
		if (info && now - info.dataSilentMs > this.#heardAt) this.#hear(now - info.dataSilentMs);
		const sending = this.#followSending(now, info);
		const silentMs = now - this.#heardAt;
		if (this.#isKernelGone(now, info)) {
			if (silentMs >= peerTimeoutMs) this.#giveUp(silentMs, 'nothing was heard from the other end');
			return;
		}
		if (silentMs < peerTimeoutMs || !this.#isSilent(now, sending)) return;
		if (info && this.#isKernelLate(info) && silentMs < stoppedPeerMs) return;
		if (!info || sending.deliveredAt !== undefined || silentMs >= stoppedPeerMs) {
			this.#giveUp(silentMs, 'the other end has not answered', info !== undefined);
		} else if (!this.#isStopped) {
			this.#isStopped = true;
			this.#link.stopped();
		}
	}

	/** Whether the kernel at the other end has left something without an answer for too long. */
	#isKernelGone(now: number, info: TcpInfo | undefined): boolean {
		if (!info?.isUnanswered) {
			this.#unansweredSince = undefined;
			return false;
		}
		this.#unansweredSince ??= now;
		const {peerTimeoutMs} = this.#times;
		// Probes of a peer that does not read come minutes apart: one that has just been sent proves nothing.
		return info.ackSilentMs >= peerTimeoutMs && now - this.#unansweredSince >= peerTimeoutMs / 4;
	}

	/** Whether the kernel at the other end may turn out to be gone. */
	#isKernelLate({isUnanswered, ackSilentMs}: TcpInfo): boolean {
		return isUnanswered && ackSilentMs >= this.#times.peerTimeoutMs / 4;
	}

	/** Whether the peer had the time to answer a ping: it has arrived, or nothing at all arrives. */
	#isSilent(now: number, {deliveredAt, progressAt}: Sending): boolean {
		if (deliveredAt === undefined) return now - progressAt >= this.#times.peerTimeoutMs / 2;
		return !this.#link.isPaused && now - deliveredAt >= this.#times.peerTimeoutMs / 2;
	}

	#followSending(now: number, info: TcpInfo | undefined): Sending {
		const {bytesWritten, backlog} = this.#link;
		const arrivedBytes = info ? info.ackedBytes : bytesWritten - backlog;
		const before = this.#sending;
		if (before) {
			const isDelivered = before.deliveredAt === undefined && arrivedBytes >= before.target;
			this.#sending = {
				target: before.target,
				arrivedBytes,
				progressAt: arrivedBytes > before.arrivedBytes ? now : before.progressAt,
				deliveredAt: isDelivered ? now : before.deliveredAt,
			};
		} else {
			const queued = (info?.queuedBytes ?? 0) + backlog;
			const deliveredAt = queued === 0 ? Number.NEGATIVE_INFINITY : undefined;
			this.#sending = {target: arrivedBytes + queued, arrivedBytes, progressAt: now, deliveredAt};
		}
		return this.#sending;
	}

	#giveUp(silentMs: number, what: string, machineAnswers = false): void {
		this.#link.giveUp(new PeerSilentError(`${what} for ${Math.round(silentMs / 1000)} s`, {machineAnswers}));
	}
}
