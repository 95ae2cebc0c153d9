import {once} from 'node:events';

const victims = [];
process.once('exit', () => {
	for (const {child} of victims) child.kill('SIGKILL');
});

/** A child of ours that a trial kills, freezes and starts again. */
export class Victim {
	name;
	child;
	#start;

	constructor(name, start) {
		this.name = name;
		this.#start = start;
		this.start();
		victims.push(this);
	}

	get pid() {
		return this.child.pid;
	}

	start() {
		this.child = this.#start();
	}

	async kill() {
		const {child} = this;
		if (child.exitCode !== null || child.signalCode !== null) return;
		const ended = once(child, 'exit');
		child.kill('SIGKILL');
		await ended;
	}

	freeze() {
		this.child.kill('SIGSTOP');
	}

	thaw() {
		this.child.kill('SIGCONT');
	}
}
