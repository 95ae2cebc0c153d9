import type {Environment} from '../../environments/environment.js';

/** Tells what becomes of the link, a line each time. */
export class LinkWatch {
	readonly #say: (text: string) => void;
	readonly #wayOut: string;
	#isUp = true;
	readonly #stop: () => void;

	constructor(environment: Environment, say: (text: string) => void, wayOut: string) {
		this.#say = say;
		this.#wayOut = wayOut;
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
		const told = setImmediate(() => this.#say(`the link is lost, connecting again; ${this.#wayOut}`));
		try {
			await recovered;
		} catch {
			clearImmediate(told);
			return;
		}
		this.#isUp = true;
		this.#say('the link is back');
	}
}
