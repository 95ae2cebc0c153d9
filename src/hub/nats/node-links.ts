import type {Msg} from '@nats-io/transport-node';
import {FlowBudget} from './flow-budget.js';
import {decodeLinkMessage, encodeLinkMessage} from './link-message.js';
import type {NatsLink} from './nats-link.js';
import {NodeLink} from './node-link.js';
import {subjects} from './subjects.js';

/** How often active links are looked after: short enough that a tail of output is acknowledged soon. */
const LOOK_INTERVAL_MS = 100;
/** Links of one node: each is a socket of a client here or elsewhere. */
export const MAX_NODE_LINKS = 50_000;
const GOING_AWAY = 1001;

/** Count and checksum of the links to one node, by which two nodes notice that they disagree. */
export interface LinkDigest {
	readonly count: number;
	readonly sum: number;
}

/** All links between this node and others. Their messages come over one subscription. */
export class NodeLinks {
	readonly budget = new FlowBudget();
	readonly #nats: NatsLink;
	/** Where answers about unknown links go to. */
	readonly #replySubject: string;
	readonly #links = new Map<string, NodeLink>();
	readonly #byNode = new Map<string, Set<NodeLink>>();
	/** Links with something on its way. */
	readonly #active = new Set<NodeLink>();
	readonly #stopListening: () => void;
	#timer: NodeJS.Timeout | undefined;
	#expected: (() => void) | undefined;
	#resetCount = 0;

	constructor(nats: NatsLink, nodeId: string) {
		this.#nats = nats;
		this.#replySubject = subjects.frames(nodeId);
		nats.subscribe(this.#replySubject, message => this.#receive(message));
		this.#stopListening = nats.onRestored(() => this.#probeAll());
	}

	get size(): number {
		return this.#links.size;
	}

	/** Links that ended because something was lost, or a node did not answer. */
	get resetCount(): number {
		return this.#resetCount;
	}

	nodes(): Iterable<string> {
		return this.#byNode.keys();
	}

	ofNode(node: string): readonly NodeLink[] {
		return [...(this.#byNode.get(node) ?? [])];
	}

	/** Undefined if there are too many, or one with this id. */
	add(id: string, node: string): NodeLink | undefined {
		if (this.#links.size >= MAX_NODE_LINKS || this.#links.has(id)) return undefined;
		const link = new NodeLink({
			id,
			node,
			budget: this.budget,
			publish: message => this.#publish(node, message),
			active: each => this.#watch(each),
			over: each => this.#forget(each),
		});
		this.#links.set(id, link);
		const ofNode = this.#byNode.get(node) ?? new Set();
		this.#byNode.set(node, ofNode.add(link));
		return link;
	}

	digest(node: string): LinkDigest {
		let sum = 0;
		const links = this.#byNode.get(node) ?? new Set<NodeLink>();
		for (const {id} of links) sum = (sum ^ Number.parseInt(id.slice(0, 8), 16)) >>> 0;
		return {count: links.size, sum};
	}

	/** The node is gone. */
	dropNode(node: string): void {
		for (const link of this.ofNode(node)) this.drop(link);
	}

	drop(link: NodeLink): void {
		this.#resetCount++;
		link.drop();
	}

	close(): void {
		for (const link of this.#links.values()) link.close();
		this.#stopListening();
		clearInterval(this.#timer);
		this.#expected?.();
	}

	/** Frames may have been lost with the server. */
	#probeAll(): void {
		const now = performance.now();
		for (const link of this.#active) if (link.isExpecting) link.probe(now);
	}

	#receive({data, reply}: Msg): void {
		const message = decodeLinkMessage(data);
		if (!message) return;
		const link = this.#links.get(message.link);
		if (link) link.receive(message);
		// The sender still believes in a link that is over here; the subject of its node is in the reply.
		else if (message.kind !== 'close' && reply) this.#refuse(reply, message.link);
	}

	#refuse(subject: string, link: string): void {
		this.#send(subject, encodeLinkMessage({kind: 'close', link, code: GOING_AWAY}));
	}

	#publish(node: string, message: Uint8Array): void {
		this.#send(subjects.frames(node), message);
	}

	#send(subject: string, message: Uint8Array): void {
		this.#nats.publish(subject, message, this.#replySubject);
	}

	#watch(link: NodeLink): void {
		this.#active.add(link);
		this.#timer ??= setInterval(() => this.#look(), LOOK_INTERVAL_MS);
	}

	#look(): void {
		// While our own connection is down nobody is asked, and silence means nothing.
		if (!this.#nats.isUp) return;
		const now = performance.now();
		let isExpecting = false;
		for (const link of this.#active) {
			if (!link.look(now)) this.#active.delete(link);
			isExpecting ||= link.isExpecting;
		}
		if (isExpecting) this.#expected ??= this.#nats.expect();
		else {
			this.#expected?.();
			this.#expected = undefined;
		}
		if (this.#active.size > 0) return;
		clearInterval(this.#timer);
		this.#timer = undefined;
	}

	#forget(link: NodeLink): void {
		this.#links.delete(link.id);
		this.#active.delete(link);
		const ofNode = this.#byNode.get(link.node);
		ofNode?.delete(link);
		if (ofNode?.size === 0) this.#byNode.delete(link.node);
	}
}
