import {ReplyError} from './client.mjs';
import {FILE_BYTES, GrowingContent} from './content.mjs';
import {livingWith} from './observe.mjs';
import {delay, until, within} from './waiting.mjs';

const MiB = 1024 * 1024;
/** What fits into retention whatever happens, so that none of it may ever be missed. */
const RETAINED_BYTES = 900_000;
/** A process that has not closed by then never will. */
const STORY_MS = 60_000;
const TIME_LIMIT_GRACE_MS = 1000;

/** Each plays one process from its start to its end; by weight. */
export const STORIES = {
	burst: 10,
	twoStreams: 6,
	drip: 8,
	flood: 5,
	lateOutput: 4,
	echo: 8,
	echoOnTerminal: 5,
	resize: 4,
	kill: 6,
	killFamily: 4,
	endGracefully: 5,
	signal: 6,
	timeLimit: 4,
	waitFor: 5,
	snapshot: 5,
	poll: 6,
	failToStart: 3,
	cancel: 4,
};

/** Plays stories on one session; `scene` has `{roamer, random, library, mark, violations}`. */
export class Storyteller {
	#scene;
	#count = 0;
	#name;

	/** `name` keeps the ids of several storytellers of a session apart. */
	constructor(name, scene) {
		this.#name = name;
		this.#scene = scene;
	}

	async play(story) {
		await this[story]();
	}

	async burst() {
		const {random, library} = this.#scene;
		const tty = random.chance(0.4);
		const [size, code] = [random.size(1, tty ? 400_000 : 3 * MiB), random.integer(0, 255)];
		const ledger = await this.#start({script: `head -c ${size} ${library.path('cells')}; exit ${code}`, tty});
		await this.#end(ledger, {bytes: size, codes: [code]});
	}

	async twoStreams() {
		const {random, library} = this.#scene;
		const [out, err] = [random.size(1, RETAINED_BYTES / 2), random.size(1, RETAINED_BYTES / 2)];
		const ledger = await this.#start({
			script: `head -c ${out} ${library.path('cells')} & head -c ${err} ${library.path('others')} >&2; wait; exit 9`,
			contents: {stdout: library.content('cells'), stderr: library.content('others')},
		});
		await this.#end(ledger, {bytes: out + err, codes: [9]});
	}

	async drip() {
		const {size, code, ...start} = this.#drip();
		await this.#end(await this.#start(start), {bytes: size, codes: [code]});
	}

	async flood() {
		const {random, library} = this.#scene;
		const size = random.size(4 * MiB, 48 * MiB);
		const times = Math.ceil(size / FILE_BYTES);
		const cats = Array.from({length: times}, () => library.path('cells')).join(' ');
		const ledger = await this.#start({script: `cat ${cats} | head -c ${size}; exit 3`});
		await this.#end(ledger, {bytes: size, codes: [3]});
	}

	/** The process has exited long before its child says a word. */
	async lateOutput() {
		const {random, library} = this.#scene;
		const size = random.size(1, RETAINED_BYTES);
		const ledger = await this.#start({
			script: `(sleep 0.${random.integer(1, 6)}; head -c ${size} ${library.path('cells')}) & exit 5`,
		});
		await this.#end(ledger, {bytes: size, codes: [5]});
	}

	async echo() {
		const {random, library} = this.#scene;
		const ledger = await this.#start({
			script: 'cat; exit 6',
			pipeStdin: true,
			contents: {stdout: library.content('lines')},
		});
		const size = await this.#writeLines(ledger, random.integer(1, 20), () => random.size(1, 8000));
		await this.#closeStdin(ledger);
		await this.#end(ledger, {bytes: size, codes: [6]});
	}

	async echoOnTerminal() {
		const {random, library} = this.#scene;
		const ledger = await this.#start({
			script: 'stty -echo -onlcr; printf R; cat; exit 7',
			tty: true,
			contents: {pty: library.content('lines', 'R')},
		});
		await this.#hear(ledger, 1);
		const size = await this.#writeLines(ledger, random.integer(1, 15), () => random.size(1, 200));
		await this.#closeStdin(ledger);
		await this.#end(ledger, {bytes: size + 1, codes: [7]});
	}

	async resize() {
		const {roamer, random} = this.#scene;
		const content = new GrowingContent();
		content.append('R');
		const ledger = await this.#start({
			script: 'stty -echo; printf R; while read -r _; do stty size; done; exit 8',
			io: {pty: {rows: 10, cols: 20}},
			contents: {pty: content},
		});
		await this.#hear(ledger, 1);
		for (let count = random.integer(1, 8); count > 0; count--) {
			const [rows, cols] = [random.integer(1, 500), random.integer(1, 500)];
			await roamer.call('process/resize', {processId: ledger.id, rows, cols});
			content.append(`${rows} ${cols}\r\n`);
			await this.#write(ledger, `line ${count}`, Buffer.from('\n'));
			await this.#hear(ledger, content.length);
		}
		await this.#closeStdin(ledger);
		await this.#end(ledger, {bytes: content.length, codes: [8]});
	}

	async kill() {
		const {roamer, random, library} = this.#scene;
		const endless = `while :; do cat ${library.path('cells')}; done`;
		const script = random.chance(0.5) ? endless : 'SLEEP';
		const ledger = await this.#start({script, tty: random.chance(0.3), pipeStdin: random.chance(0.3)});
		await delay(random.integer(0, 300));
		const mode = random.pick([undefined, null, 'force']);
		const cutsBefore = roamer.cuts;
		const {running} = await roamer.call('process/terminate', {processId: ledger.id, mode});
		this.#check(running || roamer.cuts > cutsBefore, 'terminate', `${ledger.id} was not running`);
		await this.#end(ledger, {codes: [137]});
	}

	/** Children in the group, in a session of their own and detached: none may be left. */
	async killFamily() {
		const {roamer, random} = this.#scene;
		const ledger = await this.#start({script: 'setsid -f SLEEP; setsid SLEEP & SLEEP & wait', tty: random.chance(0.3)});
		await delay(random.integer(0, 200));
		const {survivors} = await roamer.call('process/terminate', {processId: ledger.id});
		this.#check(survivors === undefined, 'survivors', `${ledger.id}: ${JSON.stringify(survivors)}`);
		await this.#end(ledger, {codes: [137]});
		const alive = () => livingWith(ledger.mark);
		await until(() => alive().length === 0, {withinMs: 2000});
		this.#check(alive().length === 0, 'family survived', `${ledger.id}: ${JSON.stringify(alive())}`);
	}

	async endGracefully() {
		const {roamer, random} = this.#scene;
		const [script, code] = random.pick([
			['SLEEP', 143],
			[onSignal('TERM', 21), 21],
			["trap '' TERM; printf R; SLEEP", 137],
		]);
		const ledger = await this.#startReady({script, tty: random.chance(0.3)});
		const timeoutMs = code === 137 ? random.integer(0, 400) : 20_000;
		await roamer.call('process/terminate', {processId: ledger.id, mode: {graceful: {timeoutMs}}});
		await this.#end(ledger, {codes: [code]});
	}

	async signal() {
		const {roamer, random} = this.#scene;
		const [script, signal, code] = random.pick([
			[onSignal('INT', 22), 'interrupt', 22],
			['SLEEP', 'interrupt', 130],
			['SLEEP', {name: 'HUP'}, 129],
			['SLEEP', {name: 'sigusr1'}, 138],
			['SLEEP', {name: 'SIGTERM'}, 143],
			['SLEEP', {name: 'KILL'}, 137],
		]);
		const ledger = await this.#startReady({script, tty: random.chance(0.3)});
		await roamer.call('process/signal', {processId: ledger.id, signal});
		await this.#end(ledger, {codes: [code]});
	}

	async timeLimit() {
		const {random} = this.#scene;
		const deaf = random.chance(0.3);
		const timeoutMs = random.integer(50, 800);
		const began = performance.now();
		const ledger = await this.#start({script: deaf ? "trap '' TERM; SLEEP" : 'SLEEP', timeoutMs});
		// Whoever is not deaf yet when a short time is over ends at the first signal.
		await this.#end(ledger, {codes: deaf ? [137, 143] : [143], reason: 'timeout'});
		const least = ledger.exit.exitCode === 137 ? timeoutMs + TIME_LIMIT_GRACE_MS : timeoutMs;
		const took = performance.now() - began;
		this.#check(took >= least - 5, 'time limit', `${ledger.id} ended after ${took} of ${least} ms`);
	}

	async waitFor() {
		const {roamer} = this.#scene;
		const {size, code, ...start} = this.#drip();
		const ledger = await this.#start(start);
		const early = await this.#unlessForgotten(
			ledger,
			roamer.call('process/wait', {processId: ledger.id, timeoutMs: 20}),
		);
		if (early?.running) {
			this.#check(early.exitCode === null && early.reason === null, 'wait', `${ledger.id}: ${JSON.stringify(early)}`);
		}
		const late = await this.#unlessForgotten(ledger, roamer.call('process/wait', {processId: ledger.id}));
		const right = late === undefined || (late.exitCode === code && !late.running && late.reason === 'exit');
		this.#check(right, 'wait', `${ledger.id}: ${JSON.stringify(late)} instead of ${code}`);
		await this.#end(ledger, {bytes: size, codes: [code]});
	}

	async snapshot() {
		const {random, library} = this.#scene;
		const tty = random.chance(0.3);
		const size = tty || random.chance(0.4) ? random.size(1, MiB) : random.integer(MiB, 6 * MiB);
		const files = Array.from({length: Math.ceil(size / FILE_BYTES)}, () => library.path('cells')).join(' ');
		const ledger = await this.#start({script: `cat ${files} | head -c ${size}; exit 4`, tty});
		await delay(random.integer(0, 100));
		await this.#checkSnapshot(ledger, tty, total => total <= size);
		await this.#end(ledger, {bytes: size, codes: [4]});
		await this.#checkSnapshot(ledger, tty, total => total === size);
	}

	/** Reads everything by cursor, beside the notifications, in pages of any size. */
	async poll() {
		const {roamer, random} = this.#scene;
		const {size, code, ...start} = this.#drip();
		const ledger = await this.#start(start);
		for (let afterSeq = 0; !ledger.isFinished; ) {
			const maxBytes = random.pick([undefined, 0, 1, 100, 5000, 100_000]);
			const request = {processId: ledger.id, afterSeq, maxBytes, waitMs: random.pick([0, 10, 200])};
			const page = await this.#unlessForgotten(ledger, roamer.call('process/read', request));
			if (!page) break;
			ledger.page(afterSeq, maxBytes === undefined, page);
			const next = page.nextSeq - 1;
			this.#check(next >= afterSeq, 'cursor', `${ledger.id}: from ${afterSeq} back to ${next}`);
			if (page.closed && page.chunks.length === 0) break;
			afterSeq = next;
		}
		await this.#end(ledger, {bytes: size, codes: [code]});
	}

	async failToStart() {
		const {roamer, random} = this.#scene;
		const [id, mark] = this.#newName();
		const [rest, message] = random.pick([
			[{argv: ['/no/such/program', mark]}, 'No such file or directory (os error 2)'],
			[{argv: ['/etc/passwd', mark]}, 'Permission denied (os error 13)'],
			[{argv: ['true', mark], cwd: 'file:///no/such/directory'}, 'No such file or directory (os error 2)'],
		]);
		const error = await roamer.start({id, mark, contents: {}, tty: random.chance(0.3), ...rest}).catch(e => e);
		const right = error instanceof ReplyError && error.code === -32_603 && error.message === message;
		if (!(error instanceof ReplyError)) throw error;
		this.#check(right, 'failed start', `${id}: ${error.code} ${error.message}`);
	}

	/** Terminated in the same breath: never started, or started and killed. */
	async cancel() {
		const {roamer, random, library} = this.#scene;
		const [id, mark] = this.#newName();
		const tty = random.chance(0.3);
		const argv = ['/bin/sh', '-c', `sleep ${mark} # ${mark}`];
		const starting = roamer.start({
			id,
			mark,
			argv,
			tty,
			contents: {[tty ? 'pty' : 'stdout']: library.content('cells')},
		});
		await roamer.call('process/terminate', {processId: id}).catch(() => {});
		try {
			const ledger = await starting;
			// A cut may have brought the two out of order.
			await roamer.call('process/terminate', {processId: id});
			await this.#end(ledger, {codes: [137]});
		} catch (error) {
			if (!(error instanceof ReplyError)) throw error;
			this.#check(
				/start was cancelled|already exists/.test(error.message),
				'cancelled start',
				`${id}: ${error.message}`,
			);
		}
	}

	/** Pieces with pauses between them, so that much can happen meanwhile. */
	#drip() {
		const {random, library} = this.#scene;
		const [pieces, size, code] = [random.integer(1, 25), random.size(1, 20_000), random.integer(0, 255)];
		const piece = `dd if=${library.path('cells')} bs=${size} skip=$i count=1 2>/dev/null`;
		const script = `i=0; while [ $i -lt ${pieces} ]; do ${piece}; sleep 0.0${random.integer(1, 9)}; i=$((i+1)); done; exit ${code}`;
		return {script, tty: random.chance(0.4), size: pieces * size, code};
	}

	#newName() {
		const {mark} = this.#scene;
		return [`${this.#name}-${++this.#count}`, mark()];
	}

	/** Runs a script in which SLEEP stands for a sleep without end. */
	async #start({script, tty = false, contents, ...rest}) {
		const {roamer, library} = this.#scene;
		const [id, mark] = this.#newName();
		// A shell that is just forking may miss an interrupt: nothing but a sleep does without one.
		const shell = ['/bin/sh', '-c', `${script.replaceAll('SLEEP', `sleep ${mark}`)} # ${mark}`];
		const argv = script === 'SLEEP' ? ['sleep', mark] : shell;
		const standard = {[tty || rest.io ? 'pty' : 'stdout']: library.content('cells')};
		return await roamer.start({id, mark, argv, tty, contents: contents ?? standard, ...rest});
	}

	/** A script that prints an R when it is ready to be signalled; one that does not is ready at once. */
	async #startReady({script, tty}) {
		const {library} = this.#scene;
		const speaks = script.includes('printf R');
		const contents = {[tty ? 'pty' : 'stdout']: library.content('cells', 'R')};
		const ledger = await this.#start({script, tty, contents});
		if (speaks) await this.#hear(ledger, 1);
		return ledger;
	}

	async #hear(ledger, bytes) {
		await within(STORY_MS, `${bytes} bytes of ${ledger.id}`, ledger.reaches(bytes));
	}

	/** Whole cells in pieces, several on their way at once, some of them twice. The number of bytes. */
	async #writeLines(ledger, pieces, cellsPerPiece) {
		const {random, library} = this.#scene;
		const content = library.content('lines');
		let size = 0;
		let underway = [];
		for (let piece = 0; piece < pieces; piece++) {
			const length = cellsPerPiece() * 16;
			const bytes = content.slice(size, length);
			size += length;
			const copies = random.chance(0.2) ? 2 : 1;
			for (let copy = 0; copy < copies; copy++) underway.push(this.#write(ledger, `write ${piece}`, bytes));
			if (underway.length < random.integer(1, 8)) continue;
			await Promise.all(underway);
			underway = [];
			if (random.chance(0.3)) await delay(random.integer(0, 100));
		}
		await Promise.all(underway);
		return size;
	}

	async #write(ledger, writeId, bytes) {
		const {roamer} = this.#scene;
		const request = {processId: ledger.id, chunk: bytes.toString('base64'), writeId};
		const {status} = await roamer.call('process/write', request);
		this.#check(status === 'accepted', 'write', `${ledger.id} ${writeId}: ${status}`);
	}

	async #closeStdin(ledger) {
		await this.#unlessForgotten(ledger, this.#scene.roamer.call('process/closeStdin', {processId: ledger.id}));
	}

	/** Undefined when the process has closed and been forgotten while the connection was away. */
	async #unlessForgotten(ledger, call) {
		try {
			return await call;
		} catch (error) {
			if (!error.message.startsWith('unknown process id')) throw error;
			await within(STORY_MS, `the end of ${ledger.id}`, ledger.finished);
			return undefined;
		}
	}

	async #checkSnapshot(ledger, tty, isTotal) {
		const {roamer, library} = this.#scene;
		const snapshot = await this.#unlessForgotten(ledger, roamer.call('process/snapshot', {processId: ledger.id}));
		if (!snapshot) return;
		const name = tty ? 'terminal' : 'stdout';
		const bytes = Buffer.from(snapshot[name], 'base64');
		const [total, head, omitted] = ['totalBytes', 'headBytes', 'omittedBytes'].map(member => snapshot[member][name]);
		const content = library.content('cells');
		const tail = bytes.length - head;
		const right =
			isTotal(total) &&
			total === bytes.length + omitted &&
			snapshot.truncated === omitted > 0 &&
			(omitted > 0 || head <= total) &&
			bytes.subarray(0, head).equals(content.slice(0, head)) &&
			bytes.subarray(head).equals(content.slice(total - tail, tail));
		this.#check(right, 'snapshot', `${ledger.id}: ${JSON.stringify({total, head, omitted, length: bytes.length})}`);
	}

	/** Waits for the end and holds it against what was to be expected; `bytes` when the process could say everything. */
	async #end(ledger, {bytes, codes, reason}) {
		await within(STORY_MS, `the end of ${ledger.id}`, ledger.finished);
		const {exit, totalBytes} = ledger;
		this.#check(bytes === undefined || totalBytes === bytes, 'bytes', `${ledger.id}: ${totalBytes} of ${bytes}`);
		this.#check(codes.includes(exit.exitCode), 'exit code', `${ledger.id}: ${exit.exitCode} instead of ${codes}`);
		this.#check(!exit.notified || isRightReason(exit, bytes, reason), 'reason', `${ledger.id}: ${exit.reason}`);
	}

	#check(holds, kind, detail) {
		this.#scene.violations.expect(holds, kind, detail);
	}
}

/** What ended by itself has no reason but its code; what was ended says so, and only a time limit is a timeout. */
function isRightReason(exit, bytes, reason) {
	if (reason !== undefined || bytes !== undefined) return exit.reason === reason;
	if (exit.reason === undefined) return exit.exitCode < 128;
	return exit.reason === 'terminated' || exit.reason === 'signal';
}

/** A script that ends with the code when it is sent the signal; `wait` is what a shell does not miss a signal in. */
function onSignal(name, code) {
	return `exec 2>/dev/null; trap 'kill $!; exit ${code}' ${name}; SLEEP & printf R; wait`;
}
