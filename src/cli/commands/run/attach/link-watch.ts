import type {Environment} from '../../../../environments/environment.js';

export interface LinkListener {
	/** Gets a line each time something happens. */
	say(text: string): void;
	/** How to leave while there is no link. */
	readonly wayOut: string;
	back(): void;
}

/** Reports lost and recovered connections. */
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

	/** Stops reporting: from now on we end the connection ourselves. */
	stop(): void {
		this.#stop();
	}

	async #down(recovered: Promise<void>): Promise<void> {
		this.#isUp = false;
		// Where there is no recovery it has failed by then, and the process reports that it is lost.
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
