import {LongarmError} from '../../shared/errors.js';
import {Yielder} from '../../shared/node/yielder.js';

/** Models that are fed at the same time, over all processes. */
export const MAX_FEEDING_MODELS = 2;
/** Time after which a model lets the next one have its turn. */
const MAX_TURN_MS = 100;
/** Time that one request may feed a model, in slices of the event loop: 10 s. The next request continues from there. */
export const MAX_REQUEST_SLICES = 2500;

/** Lets models be fed in turns: a long log delays the others by no more than a turn of each. */
export class FeedTurns {
	#active = 0;
	readonly #waiting: (() => void)[] = [];
	readonly #maxRequestSlices: number;

	constructor(maxRequestSlices = MAX_REQUEST_SLICES) {
		this.#maxRequestSlices = maxRequestSlices;
	}

	/** Settles when there is room; `leave` of the turn has to be called. */
	async enter(): Promise<FeedTurn> {
		const turn = new FeedTurn(this, this.#maxRequestSlices);
		await this.take();
		return turn.begin();
	}

	async take(): Promise<void> {
		if (this.#active < MAX_FEEDING_MODELS) this.#active++;
		else await new Promise<void>(resolve => this.#waiting.push(resolve));
	}

	give(): void {
		const next = this.#waiting.shift();
		if (next) next();
		else this.#active--;
	}
}

/** The right to feed a model for a while. */
export class FeedTurn {
	readonly #turns: FeedTurns;
	readonly #maxSlices: number;
	#yielder = new Yielder();
	#endsAt = 0;
	#slices = 0;

	constructor(turns: FeedTurns, maxSlices: number) {
		this.#turns = turns;
		this.#maxSlices = maxSlices;
	}

	begin(): this {
		this.#endsAt = performance.now() + MAX_TURN_MS;
		return this;
	}

	/** Promise to await if the event loop, or another model, is due; else undefined. */
	yieldIfDue(): Promise<void> | undefined {
		const yielded = this.#yielder.yieldIfDue();
		if (yielded) this.#slices++;
		return yielded && performance.now() >= this.#endsAt ? this.#takeAnother(yielded) : yielded;
	}

	/** Throws when the request has had all the time that one request gets. */
	throwIfUsedUp(): void {
		if (this.#slices <= this.#maxSlices) return;
		throw new LongarmError('SCREEN_UNFINISHED', {
			message: 'the screen takes too long to draw for one request; the next request continues where this one ended',
		});
	}

	leave(): void {
		this.#turns.give();
	}

	async #takeAnother(yielded: Promise<void>): Promise<void> {
		await yielded;
		this.#turns.give();
		await this.#turns.take();
		this.#yielder = new Yielder();
		this.begin();
	}
}
