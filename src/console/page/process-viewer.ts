import {type Signal, signal} from '@preact/signals';
import type {ProcessHandle, StreamEvent} from '../../client/process/process-handle.js';
import type {ListedProcess, Screen, ScreenSize} from '../../client/process/shared-process.js';
import type {SessionClient} from '../../client/session/session-client.js';
import type {MachineLink} from './machine-link.js';
import {toPlainLines, toScreenOutput} from './screen-output.js';
import {toErrorText, toSizeText} from './shown-text.js';

/** Output that the terminal has not parsed; above it the page stops reading and jumps to the present screen. */
export const MAX_UNSHOWN_BYTES = 256 * 1024;
/** Output up to which all of it is written anew, so that there is something to scroll back to. */
const MAX_REPLAYED_BYTES = 256 * 1024;
/** Lines of a log that a viewer begins with. */
const TAIL_LINES = 2000;
/** Between two jumps: a process that floods is shown a few times per second. */
const JUMP_PAUSE_MS = 300;
/** Before the next attempt after a lost connection, which is waited for in any case. */
const RETRY_PAUSE_MS = 100;
const DIM = '\u001b[2m';
const RESET = '\u001b[0m';

/** Terminal as far as output is concerned. */
export interface ViewerTerminal {
	/** Calls back when the output was parsed. */
	write(data: Uint8Array | string, done?: () => void): void;
	reset(): void;
	resize(size: ScreenSize): void;
	/** Lines that are shown, without blanks at their ends. */
	shownLines(): string[];
}

export type ViewerStatus =
	| {readonly kind: 'connecting'}
	| {readonly kind: 'live'}
	/** Output comes faster than it can be shown; the screen of now is shown now and then. */
	| {readonly kind: 'jumping'}
	| {readonly kind: 'ended'}
	| {readonly kind: 'failed'; readonly reason: string};

export interface ExitView {
	readonly exitCode: number;
	readonly reason: string | undefined;
}

class ReattachError extends Error {}

/** Shows one process on a terminal: what is there, what comes, and who drives it. Everybody begins as an observer. */
export class ProcessViewer {
	readonly status: Signal<ViewerStatus> = signal<ViewerStatus>({kind: 'connecting'});
	readonly role: Signal<'observe' | 'drive'> = signal<'observe' | 'drive'>('observe');
	readonly driver: Signal<string | undefined> = signal<string | undefined>(undefined);
	readonly exit: Signal<ExitView | undefined> = signal<ExitView | undefined>(undefined);
	/** Bytes that are no longer kept anywhere, since the page was opened. */
	readonly missedBytes: Signal<number> = signal(0);
	readonly #link: MachineLink;
	readonly #processId: string;
	readonly #terminal: ViewerTerminal;
	#handle: ProcessHandle | undefined;
	#isTerminal = true;
	#lastSeq = 0;
	/** Events up to this one are not written: the screen that was drawn includes them. */
	#shownSeq = 0;
	#unwritten = 0;
	#whenWritten: (() => void)[] = [];
	#isDisposed = false;
	#isSkipping = false;
	/** Settles when a driver that was behind has caught up. */
	#presenting: Promise<void> | undefined;
	/** Output that comes while a screen is asked for. */
	#held: {readonly events: {readonly seq: number; readonly bytes: Uint8Array}[]; bytes: number} | undefined;
	/** The terminal parses output from before now: its answers to questions in it must go nowhere. */
	#replayUntil: Screen | undefined;
	#parsingOld = 0;

	constructor(link: MachineLink, processId: string, terminal: ViewerTerminal) {
		this.#link = link;
		this.#processId = processId;
		this.#terminal = terminal;
	}

	/** Shows the process until it has ended or the viewer is disposed of. */
	async run(): Promise<void> {
		while (!this.#isDisposed) {
			try {
				if (await this.#showOnce()) return;
			} catch (error) {
				if (this.#isDisposed) return;
				if (error instanceof ReattachError || this.#link.state.value.kind !== 'ready') {
					await pause(RETRY_PAUSE_MS);
					continue;
				}
				this.status.value = {kind: 'failed', reason: toErrorText(error)};
				return;
			}
		}
	}

	/** Leaves the process, and the seat of the driver. */
	dispose(): void {
		this.#isDisposed = true;
		this.#handle?.detach().catch(() => {});
	}

	/** Keys of the user, or an answer of the terminal; only the driver's go anywhere. */
	type(data: string): void {
		if (this.role.value !== 'drive' || this.#parsingOld > 0) return;
		this.#handle?.write(data).catch((error: unknown) => this.#note(toErrorText(error)));
	}

	async takeControl(): Promise<void> {
		await this.#handle?.takeOver();
		this.#readSeat();
	}

	async giveBack(): Promise<void> {
		await this.#handle?.giveBack();
		this.#readSeat();
	}

	async resize(size: ScreenSize): Promise<void> {
		await this.#handle?.resize(size);
	}

	async signal(name: string): Promise<void> {
		await this.#handle?.signal(name === 'SIGINT' ? 'interrupt' : {name});
	}

	async end(graceMs: number): Promise<void> {
		await this.#handle?.terminate({graceful: {timeoutMs: graceMs}});
	}

	/** Whether it is over: nothing can follow. */
	async #showOnce(): Promise<boolean> {
		const client = await this.#link.client();
		const entry = await findEntry(client, this.#processId);
		this.#isTerminal = entry.tty;
		this.#readEnd(entry);
		const afterSeq = await this.#catchUp(client, entry);
		this.#shownSeq = afterSeq;
		const handle = await client.attach(this.#processId, {role: 'observe', afterSeq});
		if (this.#isDisposed) {
			await handle.detach();
			return true;
		}
		this.#handle = handle;
		this.#readSeat();
		const stop = handle.onChange(change => {
			if (change.kind === 'resized' && this.#isTerminal) this.#terminal.resize(change);
			if (change.kind === 'driverChanged') this.#readSeat();
		});
		this.status.value = {kind: entry.state === 'closed' || entry.state === 'lost' ? 'ended' : 'live'};
		try {
			for await (const event of handle.events()) if (await this.#take(event, handle)) return true;
			return true;
		} finally {
			stop();
			this.#handle = undefined;
			this.role.value = 'observe';
		}
	}

	/**
	 * Writes what came before, and the number of the last event that is in it. The screen tells the event it was made after,
	 * and events are asked for from there on: none is missed or shown twice, however much is written meanwhile.
	 */
	async #catchUp(client: SessionClient, {tty, outputBytes, rows, cols}: ListedProcess): Promise<number> {
		if (this.#lastSeq > 0 && this.#unwritten === 0 && !this.#isSkipping) return this.#lastSeq;
		const reference = await client.reference(this.#processId);
		await this.#drained();
		this.#isSkipping = false;
		this.#terminal.reset();
		if (!tty) {
			if (outputBytes <= MAX_REPLAYED_BYTES) return 0;
			const page = await reference.logPage({tail: TAIL_LINES});
			const shown = page.pieces.reduce((sum, {bytes}) => sum + bytes.length, 0);
			this.#note(`${toSizeText(Math.max(0, outputBytes - shown))} before this are in the download`);
			for (const {bytes} of page.pieces) this.#write(bytes);
			return Math.max(0, page.next.seq - 1);
		}
		if (rows && cols) this.#terminal.resize({rows, cols});
		const screen = await reference.screen({format: 'ansi'});
		this.#terminal.resize(screen);
		if (outputBytes <= MAX_REPLAYED_BYTES && !screen.missedBytes && screen.seq > 0) {
			this.#replayUntil = screen;
			return 0;
		}
		this.#writeOld(toScreenOutput(screen));
		return screen.seq;
	}

	/** True after the last event. */
	async #take(event: StreamEvent, handle: ProcessHandle): Promise<boolean> {
		switch (event.kind) {
			case 'output':
				this.#lastSeq = event.seq;
				if (this.#isSkipping) this.#skip(event.seq, event.bytes);
				else if (event.seq > this.#shownSeq) this.#writeEvent(event.seq, event.bytes);
				if (this.#unwritten > MAX_UNSHOWN_BYTES) await this.#jump(handle);
				return false;
			case 'exited':
				this.#lastSeq = event.seq;
				this.#replayTo(event.seq);
				this.exit.value = {exitCode: event.exitCode, reason: event.reason};
				return false;
			case 'closed':
				this.#replayTo(event.seq);
				await this.#presenting;
				this.status.value = {kind: 'ended'};
				return true;
			case 'gap':
				this.missedBytes.value += event.missedBytes ?? 0;
				return this.#loseTrack(handle, event.missedBytes);
			case 'lagged':
				return this.#loseTrack(handle, undefined);
			case 'failed':
				throw new ReattachError(event.message);
		}
	}

	/** Output is missing. A log goes on behind a line that says so; of a terminal the present screen is shown. */
	async #loseTrack(handle: ProcessHandle, missedBytes: number | undefined): Promise<false> {
		if (this.#isTerminal) await this.#jump(handle);
		else
			this.#note(missedBytes === undefined ? 'output is missing here' : `${toSizeText(missedBytes)} are missing here`);
		return false;
	}

	/**
	 * Stops reading until the terminal has parsed what it has, and goes on from the present screen. The driver keeps its seat,
	 * and so goes on reading without showing it.
	 */
	async #jump(handle: ProcessHandle): Promise<void> {
		if (this.#isSkipping) return;
		this.status.value = {kind: 'jumping'};
		this.#isSkipping = true;
		this.#replayUntil = undefined;
		if (handle.role === 'drive') {
			this.#presenting = this.#showPresent(handle).catch(() => {});
			return;
		}
		const before = this.#lastSeq;
		await handle.detach();
		await this.#drained();
		await pause(JUMP_PAUSE_MS);
		this.#lastSeq = 0;
		throw new ReattachError(`behind at ${before}`);
	}

	/**
	 * Shows the present screen until nothing is missing behind it: output that comes while the screen is asked for is held, and
	 * if that is too much, too, the screen is asked for again.
	 */
	async #showPresent(handle: ProcessHandle): Promise<void> {
		while (this.#isSkipping && !this.#isDisposed) {
			await this.#drained();
			await pause(JUMP_PAUSE_MS);
			this.#held = {events: [], bytes: 0};
			if (this.#isTerminal) {
				const screen = await handle.screen({format: 'ansi'});
				this.#shownSeq = screen.seq;
				this.#writeOld(toScreenOutput(screen));
			} else this.#note('output came faster than it can be shown: the rest is in the download');
			const held = this.#held;
			this.#held = undefined;
			if (held.bytes > MAX_UNSHOWN_BYTES) continue;
			this.#isSkipping = false;
			for (const {seq, bytes} of held.events) if (seq > this.#shownSeq) this.#write(bytes);
		}
		if (this.status.value.kind === 'jumping') this.status.value = {kind: 'live'};
	}

	#skip(seq: number, bytes: Uint8Array): void {
		const held = this.#held;
		if (held) {
			held.bytes += bytes.length;
			if (held.bytes <= MAX_UNSHOWN_BYTES) held.events.push({seq, bytes});
		}
	}

	#writeEvent(seq: number, bytes: Uint8Array): void {
		if (this.#replayUntil) this.#writeOld(bytes);
		else this.#write(bytes);
		this.#replayTo(seq);
	}

	/** At the end of a replay the screen is corrected: output from before was for terminals of other sizes. */
	#replayTo(seq: number): void {
		const screen = this.#replayUntil;
		if (!screen || seq < screen.seq) return;
		this.#replayUntil = undefined;
		this.#writeOld('', () => {
			const shown = this.#terminal.shownLines();
			const isSame = toPlainLines(screen).every((line, row) => line === (shown[row] ?? ''));
			// Later output may be on its way to the terminal by now.
			if (!isSame && this.#lastSeq <= screen.seq) this.#writeOld(toScreenOutput(screen));
		});
	}

	#write(data: Uint8Array | string, done?: () => void): void {
		const {length} = data;
		this.#unwritten += length;
		this.#terminal.write(data, () => {
			this.#unwritten -= length;
			done?.();
			if (this.#unwritten > 0) return;
			const waiting = this.#whenWritten;
			this.#whenWritten = [];
			for (const resolve of waiting) resolve();
		});
	}

	#writeOld(data: Uint8Array | string, done?: () => void): void {
		this.#parsingOld++;
		this.#write(data, () => {
			this.#parsingOld--;
			done?.();
		});
	}

	/** A line of our own in a log. */
	#note(text: string): void {
		this.#write(`\r\n${DIM}[${text}]${RESET}\r\n`);
	}

	#drained(): Promise<void> {
		if (this.#unwritten === 0) return Promise.resolve();
		return new Promise(resolve => {
			this.#whenWritten.push(resolve);
		});
	}

	#readSeat(): void {
		const handle = this.#handle;
		if (!handle) return;
		this.role.value = handle.role;
		this.driver.value = handle.driver;
	}

	#readEnd({state, exitCode, reason}: ListedProcess): void {
		if (state === 'exited' || state === 'closed')
			this.exit.value = {exitCode: exitCode ?? -1, reason: reason ?? undefined};
	}
}

async function findEntry(client: SessionClient, processId: string): Promise<ListedProcess> {
	const processes = await client.list({all: true, includeEnded: true});
	const entry = processes.find(each => each.processId === processId) ?? processes.find(({name}) => name === processId);
	if (!entry) throw new Error('there is no such process any more');
	return entry;
}

function pause(ms: number): Promise<void> {
	return new Promise(resolve => {
		setTimeout(resolve, ms);
	});
}
