/** Time after which a login is refused. */
export const REFUSAL_MS = 500;
/** Refusals that wait at once; beyond it a wrong login is answered at once, and is not logged. */
export const MAX_WAITING_REFUSALS = 32;

/**
 * Delays the answers to wrong logins, and knows when too many of them wait. It slows down those who guess and bounds the log;
 * what keeps guessing hopeless is the length of the secrets.
 */
export class RefusedLogins {
	#waiting = 0;
	readonly #pause: () => Promise<void>;

	constructor(pause = () => pauseFor(REFUSAL_MS)) {
		this.#pause = pause;
	}

	get isFull(): boolean {
		return this.#waiting >= MAX_WAITING_REFUSALS;
	}

	async delay(): Promise<void> {
		this.#waiting++;
		await this.#pause();
		this.#waiting--;
	}
}

function pauseFor(ms: number): Promise<void> {
	return new Promise(resolve => {
		setTimeout(resolve, ms).unref();
	});
}
