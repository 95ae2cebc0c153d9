// Shapes of the messages of one version: from recorded transcripts, and from requests that are sent for them.
import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {joinPath, Shape} from './shapes.mjs';

/** Members with a few possible values, and those values where only results and notifications have them. */
const NAMED_MEMBERS = /(?:^|\.)(?:stream|kind|status|sandboxType|platformOs|scope|decision|protocol)$/;

/** Collects shapes by method: `sent` by the client, `result`, and `notified` or `asked` by the server. */
export class WireShapes {
	/** `{method: {role: Shape}}` */
	methods = {};
	/** `{path of a member: Set of values}` */
	names = {};

	add(method, role, value) {
		this.methods[method] ??= {};
		this.methods[method][role] ??= new Shape();
		this.methods[method][role].add(value ?? null);
		if (role !== 'sent') this.#addNames(method, value);
	}

	/** Adds the transcripts of a folder, see `Recorder`. */
	addTranscripts(folder) {
		const files = readdirSync(folder).filter(name => name.endsWith('.jsonl') && !name.endsWith('.client.jsonl'));
		for (const file of files.sort()) {
			const lines = readFileSync(join(folder, file), 'utf8').split('\n').filter(Boolean);
			this.addEntries(lines.map(line => JSON.parse(line)));
		}
	}

	addEntries(entries) {
		const methods = new Map();
		for (const {conn, dir, msg} of entries) {
			if (msg?.method === undefined) {
				const method = methods.get(`${conn} ${msg?.id}`);
				if (dir === 's>c' && method && msg.result !== undefined) this.add(method, 'result', msg.result);
			} else if (dir === 'c>s') {
				if (msg.id !== undefined) methods.set(`${conn} ${msg.id}`, msg.method);
				this.add(msg.method, 'sent', msg.params);
			} else this.add(msg.method, msg.id === undefined ? 'notified' : 'asked', msg.params);
		}
	}

	#addNames(method, value, path = '') {
		if (Array.isArray(value)) for (const item of value) this.#addNames(method, item, joinPath(path, 0));
		else if (value !== null && typeof value === 'object') {
			for (const [key, inner] of Object.entries(value)) this.#addNames(method, inner, joinPath(path, key));
		} else if (typeof value === 'string' && NAMED_MEMBERS.test(path))
			(this.names[`${method} ${path}`] ??= new Set()).add(value);
	}
}
