// A process under the API of the design document; the JSON is described in the design group.
import {bytes, freshId, sh} from './proc.mjs';
import {eventually} from './time.mjs';

class Designed {
	constructor(peer, id) {
		this.peer = peer;
		this.names = {processId: id, sessionId: id};
	}

	post(method, params) {
		return this.peer.post(`process/${method}`, {...this.names, ...params});
	}

	call(method, params) {
		return this.peer.call(`process/${method}`, {...this.names, ...params});
	}

	write(data) {
		return this.call('write', {chunk: Buffer.from(data).toString('base64'), writeId: freshId('write')});
	}

	/**
	 * Polls snapshots until one satisfies `test`. Needed after `wait` as well: it is about the exit, not about the
	 * streams, so the last output may still be on its way.
	 */
	async until(test) {
		let snapshot;
		const probe = async () => test((snapshot = await snapshotOf(this)));
		try {
			await eventually(probe, 'another snapshot', {everyMs: 50});
		} catch (error) {
			throw new Error(`${error.message}, got ${JSON.stringify(snapshot)?.slice(0, 200)}`, {cause: error});
		}
		return snapshot;
	}
}

export async function designed(t, script, io = {pipe: {stdin: 'closed'}}) {
	const peer = await t.open();
	const params = sh(script, {tty: 'pty' in io, pipeStdin: io.pipe?.stdin === 'open', io});
	await peer.call('process/start', {...params, sessionId: params.processId});
	return new Designed(peer, params.processId);
}

const text = data => bytes(data).toString();

export async function snapshotOf(process) {
	const {stdout, stderr, terminal, truncated, exitCode, running} = await process.call('snapshot');
	return {stdout: text(stdout), stderr: text(stderr), terminal: text(terminal), truncated, exitCode, running};
}
