import {readProc} from './proc.mjs';
import {livingProcesses} from './process-search.mjs';

/** The limit of resident memory: inherited by every descendant and, on Linux, without any effect. */
const LIMIT = /^Max resident set\s+(\d+)/m;

/**
 * A number by which everything that descends from one server is found, in two ways that have nothing to do with each
 * other: the programs we choose bear it in their arguments (`sleep` takes it for a time that never comes), and the
 * server hands a limit on to all its children, those included whose arguments are not ours.
 */
export class Mark {
	#text;
	#limit;

	/** `run` tells scripts apart that run at once: the script's pid. */
	constructor(run, round) {
		this.#text = `31536${String(run).padStart(7, '0')}${String(round).padStart(4, '0')}`;
		this.#limit = String(run * 10_000 + round);
	}

	/** For the arguments of the `n`th process: nothing but digits. */
	text(n) {
		return `${this.#text}${String(n).padStart(6, '0')}`;
	}

	/** Put in front of a server's command line. */
	wrap(argv) {
		return ['prlimit', `--rss=${this.#limit}:${this.#limit}`, ...argv];
	}

	/** Processes that bear the mark and are neither gone nor zombies. */
	living() {
		return livingProcesses(({pid, command}) => command.includes(this.#text) || limitOf(pid) === this.#limit);
	}
}

function limitOf(pid) {
	return readProc(`${pid}/limits`).match(LIMIT)?.[1];
}
