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

	get isRunning() {
		return this.child?.exitCode === null && this.child.signalCode === null;
	}

	/** One that runs is left alone: a second process would use the files of the first, and the first could not be killed any more. */
	start() {
		if (!this.isRunning) this.child = this.#start();
	}

	async kill() {
		const {child} = this;
		if (!this.isRunning) return;
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
