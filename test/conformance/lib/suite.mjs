// Test declaration and the per-test context.
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {launchServer} from './launch.mjs';
import {PROFILES} from './options.mjs';
import {connectStdio, connectWs} from './peer.mjs';

/**
 * Declares the tests of a group: `core('name', async t => …)` or `core('name', {slow: true}, async t => …)`.
 * Options: slow (only with --slow), solo (runs alone), limitMs (time limit),
 * upstream (why the codex 0.166.0 binary is known to fail this test).
 */
export function group(name, declare) {
	const tests = [];
	const profiles = PROFILES.map(profile => [
		profile,
		(title, ...rest) => {
			const body = rest.pop();
			tests.push({group: name, profile, name: title, body, ...rest[0]});
		},
	]);
	declare(Object.fromEntries(profiles));
	return tests;
}

export class Skip extends Error {}

export class Context {
	#cleanups = [];
	#peers = [];

	constructor({url, serverCmd, stdioCmd, env, retentionMs}) {
		Object.assign(this, {url, serverCmd, stdioCmd, env, retentionMs});
	}

	after(cleanup) {
		this.#cleanups.push(cleanup);
	}

	async dispose() {
		for (const peer of this.#peers) {
			if (peer.closed) continue;
			for (const processId of peer.started) peer.post('process/terminate', {processId});
			peer.close();
		}
		for (const cleanup of this.#cleanups.reverse()) await cleanup();
	}

	/** A WebSocket connection without a handshake. */
	async raw({url = this.url, ...options} = {}) {
		if (!url) throw new Skip('no --server-cmd');
		const peer = await connectWs(url, options);
		this.#peers.push(peer);
		return peer;
	}

	/** An initialized WebSocket connection. */
	async open({url, ...params} = {}) {
		const peer = await this.raw(url ? {url} : {});
		await peer.initialize(params);
		return peer;
	}

	/** A stdio server of its own, without a handshake. */
	stdio() {
		if (!this.stdioCmd) throw new Skip('no --stdio-cmd');
		const peer = connectStdio(this.stdioCmd, this.env);
		this.after(() => peer.child.stop());
		return peer;
	}

	/** A WebSocket server of its own. */
	async server() {
		if (!this.serverCmd) throw new Skip('no --server-cmd');
		const server = await launchServer(this.serverCmd, this.env);
		this.after(() => server.child.stop());
		return server;
	}

	/** A new empty directory. */
	dir() {
		const path = mkdtempSync(join(tmpdir(), 'conformance-'));
		this.after(() => rmSync(path, {recursive: true, force: true}));
		return path;
	}

	/**
	 * Holds a script back: `wait` is the shell command that blocks until `open()`. The end of the test opens the gate as
	 * well, so that no process waits for ever.
	 */
	gate() {
		const path = join(this.dir(), 'closed');
		writeFileSync(path, '');
		return {wait: `while [ -e '${path}' ]; do sleep 0.05; done`, open: () => rmSync(path)};
	}

	/** A local HTTP server; resolves to its base URL. `seen` on the context records the requests. */
	async http(handler) {
		this.seen = [];
		const server = createServer((request, response) => {
			const body = [];
			request
				.on('data', data => body.push(data))
				.on('end', () => {
					this.seen.push({
						method: request.method,
						url: request.url,
						headers: request.headersDistinct,
						body: Buffer.concat(body).toString(),
					});
					handler(request, response);
				});
		});
		await new Promise(resolve => {
			server.listen(0, '127.0.0.1', resolve);
		});
		this.after(() => {
			server.closeAllConnections();
			server.close();
		});
		return `http://127.0.0.1:${server.address().port}`;
	}
}
