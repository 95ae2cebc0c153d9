import type {Metadata} from '../files.js';

/** Lookups of metadata under way: who asks for the same while one is gets its answer. */
export class MetadataCache {
	readonly #underWay = new Map<string, Promise<Metadata>>();

	async look(href: string, ask: () => Promise<Metadata>): Promise<Metadata> {
		const known = this.#underWay.get(href);
		if (known) return known;
		const lookup = ask();
		this.#underWay.set(href, lookup);
		try {
			return await lookup;
		} finally {
			if (this.#underWay.get(href) === lookup) this.#underWay.delete(href);
		}
	}

	/** Something is changed: what was asked before that says nothing to those who ask after it. */
	async changing<T>(change: () => Promise<T>): Promise<T> {
		this.#underWay.clear();
		try {
			return await change();
		} finally {
			this.#underWay.clear();
		}
	}
}
