import {delay} from '../lib/waiting.mjs';
import {DETACHED_SESSION_MS, MAX_KEEP_MS, MAX_LIVE} from './limits.mjs';

let total = 0;

/** How many processes may be alive at the moment, over all connections. */
export function liveProcesses() {
	return total;
}

/** Waits until so many more may be started; `sweep` is called when nobody else makes room for long. */
export async function roomFor(wanted, sweep) {
	const full = () => wanted > 0 && total > 0 && total + wanted > MAX_LIVE;
	for (let tries = 1; full(); tries++) {
		await delay(20);
		if (tries % 10 === 0) await sweep();
	}
}

/** The share of one connection. */
export class LiveProcesses {
	#here = 0;

	started() {
		this.#here++;
		total++;
	}

	/** Of a session that was resumed, processes end that were counted elsewhere. */
	ended() {
		if (this.#here === 0) return;
		this.#here--;
		total--;
	}

	/** The connection is gone, and with it its processes, at once or when the session is over. */
	leave(transport) {
		const left = this.#here;
		this.#here = 0;
		const release = () => {
			total -= left;
		};
		if (transport === 'stdio') release();
		else setTimeout(release, DETACHED_SESSION_MS + MAX_KEEP_MS).unref();
	}
}
