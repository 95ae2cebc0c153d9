// Linux only: adopted orphans of a subreaper.
import {existsSync} from 'node:fs';
import {NewestPid} from './proc.js';
import {listChildrenOfThread} from './process-tree.js';
import {signalProcess} from './signals.js';
import {isOwnChild, type Orphan, type OrphanFilter, readIssuedTag, readOrphan, reapOrphan} from './subreaper.js';

/** Reads of the list of children in a row, as long as each shows new ones. */
const MAX_READS = 50;
/** Looks at the newest process before each of them. */
const TRIES_PER_READ = 8;
/** Of a process that only the tag is known of. */
const UNEXAMINED = {
	isDead: false,
	parentPid: 0,
	groupId: 0,
	sessionId: 0,
	userId: 0,
	startTime: '',
	command: '',
} satisfies Partial<Orphan>;

export interface ScanResult {
	/** Living processes that were not there before: orphans, and descendants of orphans. */
	readonly found: readonly Orphan[];
	/** True if one of them, or an orphan that has exited, is new: others may have been started meanwhile. */
	readonly hasNew: boolean;
}

/**
 * Finds orphans that fork and exit faster than a process can be examined. Whoever is new in the list of children is stopped
 * first and examined afterwards, and continued if it is not wanted. Most of them have forked already, so that the newest
 * process of the machine is stopped, too, if it carries a tag of this program.
 *
 * At any moment one process of such a chain is in the list of children, alive or as a zombie, and nothing leaves the list
 * unless this program reaps it. A scan without a new one proves that there is no chain.
 */
export class OrphanScan {
	readonly #isWanted: OrphanFilter;
	#known = new Set<number>();
	#isFirst = true;

	constructor(isWanted: OrphanFilter) {
		this.#isWanted = isWanted;
	}

	/** Call in every turn of the event loop: the ids of children that were reaped since may be those of others. */
	beginTurn(): void {
		this.#known = new Set(listOwnChildren().filter(pid => this.#known.has(pid)));
	}

	/** Takes until the deadline, by `performance.now()`, while new ones turn up. */
	next(deadline: number): ScanResult {
		const added = this.#isFirst ? this.#listNew() : this.#stopNew(deadline);
		const examined = added.map(pid => this.#examine(pid)).filter(each => each !== undefined);
		this.#isFirst = false;
		return {found: examined.filter(({isDead}) => !isDead), hasNew: examined.length > 0};
	}

	/** The last one first. */
	#listNew(): number[] {
		const added = listOwnChildren().filter(pid => !this.#known.has(pid) && !isOwnChild(pid));
		for (const pid of added) this.#known.add(pid);
		return added.reverse();
	}

	#stopNew(deadline: number): number[] {
		const stopped = new Set<number>();
		using newest = new NewestPid();
		for (let reads = 0; reads < MAX_READS; reads++) {
			for (let tries = 0; tries < TRIES_PER_READ; tries++) this.#stopNewest(newest.read(), stopped);
			const added = this.#listNew();
			for (const pid of added) {
				signalProcess(pid, 'SIGSTOP');
				stopped.add(pid);
			}
			if (added.length === 0 || performance.now() > deadline) break;
		}
		return [...stopped];
	}

	/** Others on this machine are left alone: the tag is read first. This process carries the tag of its latest child itself. */
	#stopNewest(pid: number, stopped: Set<number>): void {
		if (stopped.has(pid) || this.#known.has(pid) || isOwnChild(pid)) return;
		const tag = readIssuedTag(pid);
		if (tag === undefined || !this.#isWanted({...UNEXAMINED, pid, tag}) || isOwnThread(pid)) return;
		signalProcess(pid, 'SIGSTOP');
		stopped.add(pid);
	}

	#examine(pid: number): Orphan | undefined {
		const orphan = readOrphan(pid);
		if (orphan && this.#isWanted(orphan)) {
			if (orphan.isDead) this.#reap(orphan);
			return orphan;
		}
		if (!this.#isFirst) signalProcess(pid, 'SIGCONT');
		return undefined;
	}

	/** Zombies of a fast chain would fill the list, and the table of processes. */
	#reap(orphan: Orphan): void {
		reapOrphan(orphan);
		this.#known.delete(orphan.pid);
	}
}

/** A signal to the id of a thread is one to its whole process. */
function isOwnThread(pid: number): boolean {
	return existsSync(`/proc/self/task/${pid}`);
}

/** The kernel gives orphans to the first thread, which starts all children. */
function listOwnChildren(): number[] {
	return listChildrenOfThread(process.pid, String(process.pid));
}
