import {delay, within} from '../lib/waiting.mjs';
import {CELL_BYTES} from './content-files.mjs';

/** Output up to this size fits into retention whatever happens, so that none of it may ever be missed. */
export const MAX_RETAINED_BYTES = 900_000;
/** A process that has not closed by then never will. */
const MAX_PROCESS_MS = 60_000;

/** The steps that scenarios share: starting, writing to and ending processes of one session, with their checks. */
export class ProcessDriver {
	#name;
	#mark;
	#count = 0;

	/** `name` keeps the ids of several drivers of a session apart; `mark()` gives a new mark for the arguments of a process. */
	constructor(name, {session, random, files, mark, violations}) {
		this.#name = name;
		this.#mark = mark;
		this.session = session;
		this.random = random;
		this.files = files;
		this.violations = violations;
	}

	/** The id of a new process and the mark in its arguments. */
	newName() {
		return [`${this.#name}-${++this.#count}`, this.#mark()];
	}

	/** Pieces with pauses between them, so that much can happen meanwhile. */
	dripProgram() {
		const {random, files} = this;
		const [pieces, size, code] = [random.integer(1, 25), random.size(1, 20_000), random.integer(0, 255)];
		const piece = `dd if=${files.path('cells')} bs=${size} skip=$i count=1 2>/dev/null`;
		const script = `i=0; while [ $i -lt ${pieces} ]; do ${piece}; sleep 0.0${random.integer(1, 9)}; i=$((i+1)); done; exit ${code}`;
		return {script, tty: random.chance(0.4), size: pieces * size, code};
	}

	/** Runs a script in which SLEEP stands for a sleep without end. */
	async start({script, tty = false, contents, ...rest}) {
		const {session, files} = this;
		const [id, mark] = this.newName();
		// A shell that is just forking may miss an interrupt: nothing but a sleep does without one.
		const shell = ['/bin/sh', '-c', `${script.replaceAll('SLEEP', `sleep ${mark}`)} # ${mark}`];
		const argv = script === 'SLEEP' ? ['sleep', mark] : shell;
		const standard = {[tty || rest.io ? 'pty' : 'stdout']: files.content('cells')};
		return await session.start({id, mark, argv, tty, contents: contents ?? standard, ...rest});
	}

	/** A script that prints an R when it is ready to be signalled; one that does not is ready at once. */
	async startReady({script, tty}) {
		const {files} = this;
		const speaks = script.includes('printf R');
		const contents = {[tty ? 'pty' : 'stdout']: files.content('cells', 'R')};
		const observed = await this.start({script, tty, contents});
		if (speaks) await this.waitForBytes(observed, 1);
		return observed;
	}

	async waitForBytes(observed, bytes) {
		await within(MAX_PROCESS_MS, `${bytes} bytes of ${observed.id}`, observed.reaches(bytes));
	}

	/** Whole cells in pieces, several on their way at once, some of them twice. The number of bytes. */
	async writeLines(observed, pieces, cellsPerPiece) {
		const {random, files} = this;
		const content = files.content('lines');
		let size = 0;
		let underway = [];
		for (let piece = 0; piece < pieces; piece++) {
			const length = cellsPerPiece() * CELL_BYTES;
			const bytes = content.slice(size, length);
			size += length;
			const copies = random.chance(0.2) ? 2 : 1;
			for (let copy = 0; copy < copies; copy++) underway.push(this.write(observed, `write ${piece}`, bytes));
			if (underway.length < random.integer(1, 8)) continue;
			await Promise.all(underway);
			underway = [];
			if (random.chance(0.3)) await delay(random.integer(0, 100));
		}
		await Promise.all(underway);
		return size;
	}

	async write(observed, writeId, bytes) {
		const {session} = this;
		const request = {processId: observed.id, chunk: bytes.toString('base64'), writeId};
		const {status} = await session.call('process/write', request);
		this.check(status === 'accepted', 'write', `${observed.id} ${writeId}: ${status}`);
	}

	async closeStdin(observed) {
		await this.unlessExpired(observed, this.session.call('process/closeStdin', {processId: observed.id}));
	}

	/** Undefined when the process has closed and expired while there was no connection. */
	async unlessExpired(observed, call) {
		try {
			return await call;
		} catch (error) {
			if (!error.message.startsWith('unknown process id')) throw error;
			await within(MAX_PROCESS_MS, `the end of ${observed.id}`, observed.finished);
			return undefined;
		}
	}

	async checkSnapshot(observed, tty, isTotal) {
		const {session, files} = this;
		const snapshot = await this.unlessExpired(observed, session.call('process/snapshot', {processId: observed.id}));
		if (!snapshot) return;
		const name = tty ? 'terminal' : 'stdout';
		const bytes = Buffer.from(snapshot[name], 'base64');
		const [total, head, omitted] = ['totalBytes', 'headBytes', 'omittedBytes'].map(member => snapshot[member][name]);
		const content = files.content('cells');
		const tail = bytes.length - head;
		const right =
			isTotal(total) &&
			total === bytes.length + omitted &&
			snapshot.truncated === omitted > 0 &&
			(omitted > 0 || head <= total) &&
			bytes.subarray(0, head).equals(content.slice(0, head)) &&
			bytes.subarray(head).equals(content.slice(total - tail, tail));
		this.check(right, 'snapshot', `${observed.id}: ${JSON.stringify({total, head, omitted, length: bytes.length})}`);
	}

	/** Waits for the end and checks it; `bytes` only when the process could print everything. */
	async end(observed, {bytes, codes, reason}) {
		await within(MAX_PROCESS_MS, `the end of ${observed.id}`, observed.finished);
		const {exit, totalBytes} = observed;
		this.check(bytes === undefined || totalBytes === bytes, 'bytes', `${observed.id}: ${totalBytes} of ${bytes}`);
		this.check(codes.includes(exit.exitCode), 'exit code', `${observed.id}: ${exit.exitCode} instead of ${codes}`);
		this.check(!exit.notified || isRightReason(exit, bytes, reason), 'reason', `${observed.id}: ${exit.reason}`);
	}

	check(holds, kind, detail) {
		this.violations.expect(holds, kind, detail);
	}
}

/** A process that ended by itself has no reason but its code; only a time limit is a timeout. */
function isRightReason(exit, bytes, reason) {
	if (reason !== undefined || bytes !== undefined) return exit.reason === reason;
	if (exit.reason === undefined) return exit.exitCode < 128;
	return exit.reason === 'terminated' || exit.reason === 'signal';
}
