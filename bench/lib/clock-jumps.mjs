import {existsSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

/** The library of `faketime`: the clock of a program is what a file says. */
const LIBRARY = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1';
const JUMP_MS = 300;

/** A clock of the machine that jumps by an hour all the time, for programs started with `wrap`; monotonic time stays. */
export class JumpingClock {
	#file = join(tmpdir(), `longarm-clock-${process.pid}-${JumpingClock.#count++}`);
	#timer;
	static #count = 0;

	constructor(random) {
		if (!existsSync(LIBRARY)) throw new Error(`${LIBRARY} is missing: install faketime`);
		const jump = () => writeFileSync(this.#file, `${random.pick(['+0', '+3600', '-3600'])}\n`);
		jump();
		this.#timer = setInterval(jump, JUMP_MS);
		this.#timer.unref();
	}

	wrap(argv) {
		const settings = {
			LD_PRELOAD: LIBRARY,
			FAKETIME_TIMESTAMP_FILE: this.#file,
			FAKETIME_NO_CACHE: '1',
			FAKETIME_DONT_FAKE_MONOTONIC: '1',
		};
		return ['env', ...Object.entries(settings).map(([name, value]) => `${name}=${value}`), ...argv];
	}

	stop() {
		clearInterval(this.#timer);
		rmSync(this.#file, {force: true});
	}
}
