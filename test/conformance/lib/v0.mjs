// The first protocol (exec-server.v0): the server names the session, a session is one process.
import {tmpdir} from 'node:os';
import {bytes} from './proc.mjs';

export const exec = (argv, extra) => ({
	argv,
	cwd: tmpdir(),
	env: {PATH: process.env.PATH},
	tty: false,
	arg0: null,
	...extra,
});
export const shell = (script, extra) => exec(['/bin/sh', '-c', script], extra);

export class Session {
	constructor(peer, id) {
		this.peer = peer;
		this.id = id;
	}

	get deltas() {
		return this.peer.notes('command/exec/outputDelta').filter(p => p.sessionId === this.id);
	}

	text(stream) {
		return Buffer.concat(this.deltas.filter(p => !stream || p.stream === stream).map(p => bytes(p.chunk))).toString();
	}

	shows(needle) {
		return this.peer.until(() => this.text().includes(needle), `output containing ${JSON.stringify(needle)}`);
	}

	async exited() {
		const matches = m => m.method === 'command/exec/exited' && m.params.sessionId === this.id;
		return (await this.peer.find(matches, undefined, `command/exec/exited for ${this.id}`)).params;
	}

	write(data) {
		return this.peer.call('command/exec/write', {sessionId: this.id, chunk: Buffer.from(data).toString('base64')});
	}

	terminate() {
		return this.peer.call('command/exec/terminate', {sessionId: this.id});
	}
}

export async function start(peer, params) {
	return new Session(peer, (await peer.call('command/exec', params)).sessionId);
}
