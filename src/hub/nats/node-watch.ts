import {setTimeout as delay} from 'node:timers/promises';
import type {Logger} from '../../shared/logger.js';
import type {NatsLink} from './nats-link.js';
import type {LinkDigest, NodeLinks} from './node-links.js';
import {subjects} from './subjects.js';

/** How often other nodes are asked, and how long they have for an answer. */
const ASK_INTERVAL_MS = 1000;
const ANSWER_TIMEOUT_MS = 2000;
/** Pause before a node that nobody answers for is asked again: it may be changing its server. */
const ASK_AGAIN_MS = 500;
/** Unanswered questions after which a node is gone. The oldest upstream clients stop trying to resume after 25 s. */
const MAX_MISSES = 3;
/** A link that only one side knows is dropped after this time: the other one may not know it yet. */
const MIN_LINK_AGE_MS = 4000;

type Question = {readonly kind: 'digest'; readonly from: string} | {readonly kind: 'links'; readonly from: string};

export interface NodeWatchOptions {
	readonly nats: NatsLink;
	readonly links: NodeLinks;
	readonly nodeId: string;
	/** Nodes to watch besides those with links. */
	readonly known: () => Iterable<string>;
	readonly gone: (node: string) => void;
	readonly logger: Logger;
}

/**
 * Finds out which nodes are gone, and which links only one of two nodes has. No node is judged while our own connection to NATS
 * does not answer.
 */
export class NodeWatch {
	readonly #options: NodeWatchOptions;
	/** Nodes that are being asked, and those of them that have not answered. */
	readonly #watched = new Set<string>();
	readonly #silent = new Set<string>();
	readonly #timer: NodeJS.Timeout;
	#isClosed = false;

	constructor(options: NodeWatchOptions) {
		this.#options = options;
		const {nats, nodeId} = options;
		nats.subscribe(subjects.questions(nodeId), message => {
			message.respond(JSON.stringify(this.#answer(message.string())));
		});
		this.#timer = setInterval(() => this.#watchAll(), ASK_INTERVAL_MS);
	}

	/** Whether a node has answered lately, or has not been asked yet. */
	isAlive(node: string): boolean {
		return !this.#silent.has(node);
	}

	close(): void {
		this.#isClosed = true;
		clearInterval(this.#timer);
	}

	#watchAll(): void {
		const {links, known, nodeId} = this.#options;
		for (const node of new Set([...known(), ...links.nodes()])) {
			if (node === nodeId || this.#watched.has(node)) continue;
			this.#watched.add(node);
			void this.#watch(node).finally(() => this.#watched.delete(node));
		}
	}

	/** Asks a node until it answers, or is gone. */
	async #watch(node: string): Promise<void> {
		const {nats, gone, logger} = this.#options;
		for (let misses = 0; !this.#isClosed; ) {
			const answer = await this.#ask(node, 'digest');
			if (answer !== 'nobody' && answer !== 'silence') {
				this.#silent.delete(node);
				return this.#compare(node, answer as LinkDigest);
			}
			this.#silent.add(node);
			// Silence says something about the other node only if our own server answers.
			if (answer === 'nobody' || (await nats.isAnswering())) misses++;
			if (misses >= MAX_MISSES) {
				logger.warn('a node of the hub is gone', {node, reason: answer});
				return gone(node);
			}
			await delay(ASK_AGAIN_MS);
		}
	}

	async #compare(node: string, theirs: LinkDigest): Promise<void> {
		const {links} = this.#options;
		const ours = links.digest(node);
		if (ours.count === theirs.count && ours.sum === theirs.sum) return;
		const known = await this.#ask(node, 'links');
		if (!Array.isArray(known)) return;
		const ids = new Set(known);
		const now = performance.now();
		for (const link of links.ofNode(node)) {
			if (now - link.since > MIN_LINK_AGE_MS && !ids.has(link.id)) links.drop(link);
		}
	}

	async #ask(node: string, kind: Question['kind']): Promise<unknown> {
		const {nats, nodeId} = this.#options;
		const question: Question = {kind, from: nodeId};
		const answer = await nats.request(subjects.questions(node), JSON.stringify(question), ANSWER_TIMEOUT_MS);
		return answer.kind === 'answer' ? answer.message.json<unknown>() : answer.kind;
	}

	#answer(text: string): unknown {
		const {kind, from} = JSON.parse(text) as Question;
		const {links} = this.#options;
		return kind === 'links' ? links.ofNode(from).map(({id}) => id) : links.digest(from);
	}
}
