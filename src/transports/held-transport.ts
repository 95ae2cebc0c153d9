import type {BinaryPayload} from '../protocol/wire/binary-payload.js';
import {Deferred} from '../shared/async/deferred.js';
import type {Transport, TransportEvents} from './transport.js';
import {WrappedTransport} from './wrapped-transport.js';

/** A transport that is read before it has a user: its first message can be inspected, and taken out. */
export class HeldTransport extends WrappedTransport {
	readonly #first = new Deferred<string | undefined>();
	readonly #held: {readonly text: string; readonly payload: BinaryPayload | undefined}[] = [];
	#user: TransportEvents | undefined;
	#end: {readonly error: Error | undefined} | undefined;

	constructor(inner: Transport) {
		super(inner);
		inner.open({
			message: (text, payload) => {
				if (this.#user) this.#user.message(text, payload);
				else this.#hold(text, payload);
			},
			unreadable: reason => {
				if (this.#user) this.#user.unreadable(reason);
				else inner.destroy();
			},
			drained: () => this.#user?.drained(),
			closed: error => {
				this.#end = {error};
				this.#first.resolve(undefined);
				this.#user?.closed(error);
			},
		});
	}

	/** The first message; undefined if the peer has left without one. */
	get first(): Promise<string | undefined> {
		return this.#first.promise;
	}

	/** Takes the first message out: the user does not get it. */
	takeFirst(): void {
		this.#held.shift();
	}

	override open(events: TransportEvents): void {
		this.#user = events;
		for (const {text, payload} of this.#held.splice(0)) events.message(text, payload);
		if (this.#end) events.closed(this.#end.error);
		else this.inner.resume();
	}

	#hold(text: string, payload: BinaryPayload | undefined): void {
		this.#held.push({text, payload});
		this.inner.pause();
		this.#first.resolve(text);
	}
}
