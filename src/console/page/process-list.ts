import {type Signal, signal} from '@preact/signals';
import type {ListedProcess} from '../../client/process/shared-process.js';
import type {MachineLink} from './machine-link.js';
import {toErrorText} from './shown-text.js';

const POLL_MS = 1000;
/** Above so many processes it is asked less often. */
const MANY_PROCESSES = 100;
const MANY_POLL_MS = 2500;

export type ProcessListState =
	| {readonly kind: 'loading'}
	| {readonly kind: 'listed'; readonly processes: readonly ListedProcess[]; readonly at: number}
	| {readonly kind: 'failed'; readonly reason: string};

/** The processes of a machine, asked for again while somebody looks. */
export class ProcessList {
	readonly state: Signal<ProcessListState> = signal<ProcessListState>({kind: 'loading'});
	readonly #link: MachineLink;
	#viewers = 0;
	#timer: ReturnType<typeof setTimeout> | undefined;

	constructor(link: MachineLink) {
		this.#link = link;
		document.addEventListener('visibilitychange', () => this.#lookAgain());
	}

	/** Keeps the list current until the returned function is called. */
	watch(): () => void {
		this.#viewers++;
		this.#lookAgain();
		return () => {
			this.#viewers--;
		};
	}

	#lookAgain(): void {
		clearTimeout(this.#timer);
		if (this.#viewers > 0 && document.visibilityState === 'visible') void this.#look();
	}

	async #look(): Promise<void> {
		let count = 0;
		try {
			const client = await this.#link.client();
			const processes = await client.list({all: true, includeEnded: true});
			count = processes.length;
			const sorted = [...processes].sort((one, other) => other.startedAtMs - one.startedAtMs);
			this.state.value = {kind: 'listed', processes: sorted, at: performance.now()};
		} catch (error) {
			this.state.value = {kind: 'failed', reason: toErrorText(error)};
		}
		clearTimeout(this.#timer);
		if (this.#viewers > 0 && document.visibilityState === 'visible') {
			this.#timer = setTimeout(() => this.#lookAgain(), count > MANY_PROCESSES ? MANY_POLL_MS : POLL_MS);
		}
	}
}

const lists = new WeakMap<MachineLink, ProcessList>();

export function processListOf(link: MachineLink): ProcessList {
	const known = lists.get(link);
	if (known) return known;
	const list = new ProcessList(link);
	lists.set(link, list);
	return list;
}
