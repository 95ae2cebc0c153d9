/**
 * The events of one process, put together from notifications and pages of `process/read`, and checked against what the
 * protocol promises: numbers without gaps, each event once, `closed` last, every byte the right one.
 */
export class ObservedProcess {
	/** The last number up to which everything is accounted for. */
	seen = 0;
	/** Bytes accounted for, by stream; those that were announced as missed are among them. */
	bytes = {stdout: 0, stderr: 0, pty: 0};
	missedBytes = 0;
	/** `{seq, exitCode, reason, notified}`; the number may be missing when only a page told of the exit. */
	exit;
	closedSeq;
	/** The error after which no further events can be received. */
	abandoned;
	/** Settles when everything up to `closed` is accounted for; rejects when that can no longer be known. */
	finished;
	#settle;
	#violations;
	#contents;
	#pending = new Map();
	#known = new Map();
	#lastNotified = 0;
	#reattached = false;
	#watchers = new Set();

	/** `contents` has for every stream what it should bring: `slice(offset, length)`. */
	constructor(id, contents, violations) {
		this.id = id;
		this.#contents = contents;
		this.#violations = violations;
		this.finished = new Promise((resolve, reject) => {
			this.#settle = {resolve, reject};
		});
		this.finished.catch(() => {});
	}

	get totalBytes() {
		return this.bytes.stdout + this.bytes.stderr + this.bytes.pty;
	}

	get isFinished() {
		return this.closedSeq !== undefined && this.seen >= this.closedSeq;
	}

	/** A new connection: its first notification may leave out what came before it. */
	reattach() {
		this.#reattached = true;
	}

	/** No further events can be received. */
	abandon(error) {
		this.abandoned = error;
		this.#settle.reject(error);
		this.#wake();
	}

	/** Settles when so many bytes are accounted for, or when nothing more will come. */
	async reaches(bytes) {
		while (this.totalBytes < bytes && !this.isFinished) {
			await Promise.race([new Promise(resolve => this.#watchers.add(resolve)), this.finished]);
		}
	}

	notified(method, params) {
		const {seq} = params;
		const follows = this.#reattached ? seq > this.#lastNotified : seq === this.#lastNotified + 1;
		this.#check(follows, 'order of notifications', () => `${method} ${seq} after ${this.#lastNotified}`);
		this.#check(
			this.closedSeq === undefined || seq <= this.closedSeq,
			'event after closed',
			() => `${method} ${seq} after closed ${this.closedSeq}`,
		);
		this.#reattached = false;
		this.#lastNotified = seq;
		if (method === 'process/output') this.#put(seq, params.stream, Buffer.from(params.chunk, 'base64'));
		else if (method === 'process/exited') this.#exited(params);
		else this.#closed(seq);
		this.#drain();
	}

	/** A page that was asked for with this cursor; `whole` when it had no limit of bytes. */
	page(afterSeq, whole, {chunks, nextSeq, exited, exitCode, closed, missedBytes = 0}) {
		const first = chunks[0]?.seq ?? nextSeq;
		let last = afterSeq;
		for (const {seq, stream, chunk} of chunks) {
			this.#check(seq > last, 'order of a page', () => `${seq} after ${last}`);
			last = seq;
			this.#put(seq, stream, Buffer.from(chunk, 'base64'));
		}
		if (missedBytes > 0) this.#missed(afterSeq, first, missedBytes);
		if (whole) this.#fillHoles(missedBytes > 0 ? first : afterSeq + 1, nextSeq, {exited, exitCode, closed});
		if (exited) {
			this.#check(
				this.exit === undefined || this.exit.exitCode === exitCode,
				'exit code',
				() => `a page says ${exitCode}, before it was ${this.exit.exitCode}`,
			);
		}
		this.#drain();
	}

	/** The numbers of a whole page that are no chunks are those of the exit and of the close, and nothing else. */
	#fillHoles(from, nextSeq, {exited, exitCode, closed}) {
		if (exited) this.exit ??= {seq: undefined, exitCode};
		if (closed && this.closedSeq === undefined) this.#closed(nextSeq - 1);
		const holes = [];
		for (let seq = Math.max(from, this.seen + 1); seq < nextSeq; seq++) {
			if (!this.#pending.has(seq) && seq !== this.exit?.seq && seq !== this.closedSeq) holes.push(seq);
		}
		if (holes.length === 1 && this.exit && this.exit.seq === undefined) [this.exit.seq] = holes;
		else
			this.#check(
				holes.length === 0,
				'gap',
				() => `${holes.slice(0, 5).join()} of a page up to ${nextSeq} are missing`,
			);
	}

	/** Bytes after the cursor that the server has no more: part of them may have reached us before. */
	#missed(afterSeq, first, missedBytes) {
		const had = [...this.#known, ...this.#pending].filter(([seq]) => seq > afterSeq && seq < first);
		const hadBytes = had.reduce((sum, [, {length}]) => sum + length, 0);
		if (this.seen >= first - 1) {
			this.#check(hadBytes === missedBytes, 'missedBytes', () => `${missedBytes} told, ${hadBytes} were evicted`);
			return;
		}
		const lost = missedBytes - hadBytes;
		this.#check(lost >= 0, 'missedBytes', () => `${missedBytes} told, but ${hadBytes} of them were received`);
		const [stream, ...others] = Object.keys(this.#contents);
		this.#check(others.length === 0, 'missedBytes', () => `${missedBytes} although all of it fits into retention`);
		this.bytes[stream] += lost;
		this.missedBytes += lost;
		const next = Math.min(first, ...[...this.#pending.keys()].filter(seq => seq > this.seen));
		this.seen = next - 1;
		this.#known.set(this.seen, {offset: this.bytes[stream] - lost, length: lost});
	}

	#exited({seq, exitCode, reason}) {
		this.#check(this.exit?.seq === undefined || this.exit.seq === seq, 'exited twice', () => `${seq}`);
		this.exit = {seq, exitCode, reason, notified: true};
	}

	#closed(seq) {
		const told = this.closedSeq !== undefined && this.closedSeq !== seq;
		this.#check(!told, 'closed twice', () => `${seq} and ${this.closedSeq}`);
		this.closedSeq = seq;
		const later = Math.max(this.seen, ...this.#pending.keys());
		this.#check(later < seq || this.isFinished, 'output after closed', () => `${later} after ${seq}`);
	}

	#put(seq, stream, chunk) {
		const known = this.#known.get(seq);
		const pending = this.#pending.get(seq);
		if (known) {
			this.#compare(seq, stream, chunk, known.offset);
			this.#check(known.length === chunk.length, 'the same number twice', () => `${seq} has two lengths`);
		} else if (pending) {
			this.#check(pending.chunk.equals(chunk), 'the same number twice', () => `${seq} has two contents`);
		} else {
			this.#check(seq > this.seen, 'number out of nowhere', () => `${seq} below ${this.seen}`);
			this.#pending.set(seq, {stream, chunk, length: chunk.length});
		}
	}

	#drain() {
		for (;;) {
			const seq = this.seen + 1;
			const next = this.#pending.get(seq);
			if (next) this.#account(seq, next);
			else if (seq !== this.exit?.seq && seq !== this.closedSeq) break;
			this.seen = seq;
		}
		if (this.isFinished) {
			this.#check(this.exit !== undefined, 'closed without exited', () => `closed ${this.closedSeq}`);
			this.#settle.resolve();
		}
		this.#wake();
	}

	#account(seq, {stream, chunk}) {
		this.#pending.delete(seq);
		this.#compare(seq, stream, chunk, this.bytes[stream]);
		this.#known.set(seq, {offset: this.bytes[stream], length: chunk.length});
		this.bytes[stream] += chunk.length;
	}

	#compare(seq, stream, chunk, offset) {
		const right = this.#contents[stream]?.slice(offset, chunk.length);
		this.#check(right !== undefined, 'stream', () => `${seq} came on ${stream}`);
		if (right === undefined || right.equals(chunk)) return;
		const at = chunk.findIndex((byte, index) => byte !== right[index]);
		const shown = bytes => JSON.stringify(bytes.subarray(Math.max(0, at - 8), at + 24).toString('latin1'));
		this.#violations.add(
			'wrong byte',
			`${this.id} ${seq} ${stream} at ${offset + at}: ${shown(chunk)} instead of ${shown(right)}`,
		);
	}

	#check(holds, kind, detail) {
		this.#violations.expect(holds, kind, () => `${this.id}: ${detail()}`);
	}

	#wake() {
		for (const wake of this.#watchers) wake();
		this.#watchers.clear();
	}
}
