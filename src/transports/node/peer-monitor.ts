import type {PeerTimes} from './peer-times.js';
import {PeerWatch, type WatchedLink} from './peer-watch.js';

/** Looks per ping interval. */
const LOOKS_PER_INTERVAL = 10;
/** A look that comes after more intervals than this was late: this process was stopped or busy. */
const MAX_INTERVALS_BETWEEN_LOOKS = 2;

/** Watches any number of peers with one timer, which runs while there are some and keeps no program alive. */
export class PeerMonitor {
	readonly #times: PeerTimes;
	readonly #watches = new Set<PeerWatch>();
	#timer: NodeJS.Timeout | undefined;
	#lookedAt = 0;
	/** Time during which this process could hear its peers: that of a process that is stopped, or busy, does not count. */
	#clockMs = 0;

	constructor(times: PeerTimes) {
		this.#times = times;
	}

	/** Watches a peer until the returned function is called. */
	watch(link: WatchedLink): () => void {
		if (this.#times.pingIntervalMs === 0) return () => {};
		const watch = new PeerWatch(link, this.#times, this.#clockMs);
		this.#watches.add(watch);
		if (!this.#timer) {
			this.#lookedAt = performance.now();
			this.#timer = setInterval(() => this.#look(), this.#intervalMs);
			this.#timer.unref();
		}
		return () => {
			this.#watches.delete(watch);
			if (this.#watches.size > 0) return;
			clearInterval(this.#timer);
			this.#timer = undefined;
		};
	}

	get #intervalMs(): number {
		return Math.max(1, this.#times.pingIntervalMs / LOOKS_PER_INTERVAL);
	}

	#look(): void {
		const elapsedMs = Math.round(performance.now() - this.#lookedAt);
		this.#lookedAt += elapsedMs;
		const isLate = elapsedMs > this.#intervalMs * MAX_INTERVALS_BETWEEN_LOOKS;
		this.#clockMs += isLate ? this.#intervalMs : elapsedMs;
		for (const watch of this.#watches) {
			if (isLate) watch.listenOnceMore(this.#clockMs);
			else watch.look(this.#clockMs);
		}
	}
}
