import type {Environment} from '../../../../environments/environment.js';

const STATUS_INTERVAL_MS = 1000;

export interface LinkListener {
	/** Gets a line each time something happens. */
	say(text: string): void;
	/** How to leave while there is no link. */
	readonly wayOut: string;
	/** Replaces the last line, which tells how long there has been no link; an empty text removes it. Absent without a terminal. */
	readonly redraw?: ((text: string) => void) | undefined;
	/** Whether the process may be found again when its session is lost, see `restored`. */
	readonly outlivesSession?: boolean | undefined;
	back(): void;
}

/** Reports lost and recovered connections. */
export class LinkWatch {
	readonly #listener: LinkListener;
	#isUp = true;
	#status: NodeJS.Timeout | undefined;
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
		this.#endStatus();
		this.#stop();
	}

	/** The link is back, with the same session or with another one. */
	restored(): void {
		if (this.#isUp) return;
		this.#isUp = true;
		this.#endStatus();
		this.#listener.say('the link is back');
		this.#listener.back();
	}

	async #down(recovered: Promise<void>): Promise<void> {
		const isFirst = this.#isUp;
		this.#isUp = false;
		// Where there is no recovery it has failed by then, and the process reports that it is lost.
		const told = setImmediate(() => {
			if (isFirst) this.#tellLost();
		});
		try {
			await recovered;
		} catch {
			if (this.#listener.outlivesSession) return;
			clearImmediate(told);
			this.#endStatus();
			return;
		}
		this.restored();
	}

	#tellLost(): void {
		const {wayOut, redraw} = this.#listener;
		this.#listener.say(`the link is lost, connecting again; ${wayOut}`);
		if (!redraw) return;
		const lostAt = performance.now();
		this.#status = setInterval(() => {
			const seconds = Math.floor((performance.now() - lostAt) / STATUS_INTERVAL_MS);
			redraw(`no link for ${describeSeconds(seconds)}, still connecting; Ctrl-C or ~. gives up`);
		}, STATUS_INTERVAL_MS);
	}

	#endStatus(): void {
		if (!this.#status) return;
		clearInterval(this.#status);
		this.#status = undefined;
		this.#listener.redraw?.('');
	}
}

/** `45s`, `3m 20s`, `2h 5m`. */
function describeSeconds(seconds: number): string {
	const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
	if (hours > 0) return `${hours}h ${minutes}m`;
	return minutes > 0 ? `${minutes}m ${seconds % 60}s` : `${seconds}s`;
}
