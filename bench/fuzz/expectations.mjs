import {SLOW} from './methods.mjs';
import {Violation} from './violation.mjs';

/** The answers that are due on one connection: one to every request, and one to every malformed message. */
export class Expectations {
	#requests = new Map();
	#prompt = 0;
	#malformed = 0;

	/** `settled` gets the reply. */
	add({kind, key, method}, payload, settled) {
		if (kind === 'malformed') this.#malformed++;
		if (kind !== 'request') return;
		const request = {method, payload, settled, prompt: !SLOW.has(method)};
		if (request.prompt) this.#prompt++;
		const same = this.#requests.get(key);
		if (same) same.push(request);
		else this.#requests.set(key, [request]);
	}

	/** The request a reply belongs to; undefined for the answer to a malformed message. */
	take({id, error}, text) {
		if (id === -1 && error?.code === -32600 && error.message.startsWith('failed to parse ')) {
			if (--this.#malformed < 0) throw new Violation('an answer too many to malformed messages', text);
			return undefined;
		}
		// As a number an id beyond 2^53 would not be the same any more.
		const key = typeof id === 'string' ? `s${id}` : `n${/^\{"id":(-?\d+)/.exec(text)?.[1] ?? id}`;
		const requests = this.#requests.get(key);
		if (!requests) throw new Violation('an answer to nothing that was asked', text);
		const index = requests.findIndex(({prompt}) => prompt);
		const [request] = requests.splice(Math.max(0, index), 1);
		if (requests.length === 0) this.#requests.delete(key);
		if (request.prompt) this.#prompt--;
		return request;
	}

	/** Whether nothing is missing but what may wait for a process. */
	get promptOnesMet() {
		return this.#prompt === 0 && this.#malformed === 0;
	}

	get allMet() {
		return this.#requests.size === 0 && this.#malformed === 0;
	}

	/** The first request that was not answered. */
	get missing() {
		const [requests] = this.#requests.values();
		return requests?.[0]?.payload;
	}

	get summary() {
		return `${this.#requests.size} ids and ${this.#malformed} malformed messages unanswered`;
	}
}
