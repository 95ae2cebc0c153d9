import type {Frame} from '../protocol/wire/encode.js';
import type {Transport, TransportEvents} from './transport.js';

/** A transport around another; subclasses override what is different. */
export abstract class WrappedTransport implements Transport {
	protected readonly inner: Transport;

	constructor(inner: Transport) {
		this.inner = inner;
	}

	get kind(): Transport['kind'] {
		return this.inner.kind;
	}

	get peer(): string {
		return this.inner.peer;
	}

	get backlog(): number {
		return this.inner.backlog;
	}

	get asking(): Transport['asking'] {
		return this.inner.asking;
	}

	open(events: TransportEvents): void {
		this.inner.open(events);
	}

	send(frame: Frame): void {
		this.inner.send(frame);
	}

	pause(): void {
		this.inner.pause();
	}

	resume(): void {
		this.inner.resume();
	}

	isAnswering(timeoutMs: number): Promise<boolean> {
		return this.inner.isAnswering?.(timeoutMs) ?? Promise.resolve(true);
	}

	unref(): void {
		this.inner.unref?.();
	}

	close(): void {
		this.inner.close();
	}

	destroy(): void {
		this.inner.destroy();
	}
}
