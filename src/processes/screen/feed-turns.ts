import {Yielder} from '../../shared/node/yielder.js';

/** Models that are fed at the same time, over all processes. */
export const MAX_FEEDING_MODELS = 2;
/** Time after which a model lets the next one have its turn. */
const MAX_TURN_MS = 100;

/** Lets models be fed in turns: a long log delays the others by no more than a turn of each. */
export class FeedTurns {
	#active = 0;
	readonly #waiting: (() => void)[] = [];

	/** Settles when there is room; `leave` of the turn has to be called. */
	async enter(): Promise<FeedTurn> {
		const turn = new FeedTurn(this);
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
	#yielder = new Yielder();
	#endsAt = 0;

	constructor(turns: FeedTurns) {
		this.#turns = turns;
	}

	begin(): this {
		this.#endsAt = performance.now() + MAX_TURN_MS;
		return this;
	}

	/** Promise to await if the event loop, or another model, is due; else undefined. */
	yieldIfDue(): Promise<void> | undefined {
		const yielded = this.#yielder.yieldIfDue();
		return yielded && performance.now() >= this.#endsAt ? this.#takeAnother(yielded) : yielded;
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
