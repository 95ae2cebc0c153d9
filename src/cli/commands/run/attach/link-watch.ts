import type {Environment} from '../../../../environments/environment.js';

export interface LinkListener {
	/** Gets a line each time something happens. */
	say(text: string): void;
	/** How to leave while there is no link. */
	readonly wayOut: string;
	back(): void;
}

/** Tells what becomes of the link. */
export class LinkWatch {
	readonly #listener: LinkListener;
	#isUp = true;
	readonly #stop: () => void;

	constructor(environment: Environment, listener: LinkListener) {
		this.#listener = listener;
		this.#stop = environment.onDisconnect((_error, recovered) => void this.#down(recovered));
	}

	get isUp(): boolean {
		return this.#isUp;
	}

	/** Whatever happens from now on is our own doing. */
	stop(): void {
		this.#stop();
	}

	async #down(recovered: Promise<void>): Promise<void> {
		this.#isUp = false;
		// A link that is not made again has failed by then; that the process is lost is told by others.
		const told = setImmediate(() => this.#listener.say(`the link is lost, connecting again; ${this.#listener.wayOut}`));
		try {
			await recovered;
		} catch {
			clearImmediate(told);
			return;
		}
		this.#isUp = true;
		this.#listener.say('the link is back');
		this.#listener.back();
	}
}
