import type {Result} from '../../protocol/methods/method-table.js';
import {encodeWithBytes} from '../../protocol/wire/encode.js';
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {readOptions} from '../../shared/call-options.js';
import {MAX_TIMER_MS} from '../../shared/units.js';
import type {WaitCondition, WaitOptions, WaitResultOf} from '../run/wait-for.js';
import {RejectedError} from '../session/client-errors.js';
import {type CaughtUp, type KnownEvents, reconcile, reconcilePage} from '../session/reconcile.js';
import {requireCapability} from '../session/require-capability.js';
import {Acknowledger} from './acknowledger.js';
import {BaseProcess} from './base-process.js';
import {endTagged} from './end-tagged.js';
import type {PausableSource} from './event-stream.js';
import {inputClosedError} from './input-closed.js';
import {
	type Gap,
	type NumberedEvent,
	ProcessLostError,
	type ProcessSnapshot,
	type ReadOptions,
	type ReadResult,
	type TerminateMode,
	type TerminateResult,
	type WireSignal,
	type WriteResult,
} from './process-handle.js';
import {fetchLogPage, readLogs} from './process-logs.js';
import {readRecording} from './process-recording.js';
import type {ProcessSession} from './process-session.js';
import {fetchScreen, requestRemoval, requestShare, requestShares, requestUnshare} from './remote-sharing.js';
import {ReorderBuffer, ReorderError} from './reorder-buffer.js';
import {Seat} from './seat.js';
import {
	type ListedShare,
	type LogEntry,
	type LoggedPage,
	type LoggedPageOptions,
	type LogOptions,
	type ProcessChange,
	type ProcessRole,
	type ProcessShare,
	type RecordingEntry,
	type Screen,
	type ScreenOptions,
	type ShareOptions,
	TAKE_OVER_OPTIONS,
	type TakeOverOptions,
} from './shared-process.js';

export interface RemoteProcessOptions {
	/** With a source to pause, the first reader misses nothing. */
	readonly source?: PausableSource | undefined;
	/** Tells the server what that reader has taken. */
	readonly acknowledges?: boolean;
	/** Events up to this number are not delivered. */
	readonly afterSeq?: number | undefined;
	/** Makes the ids of writes differ from those of an earlier client. */
	readonly writePrefix?: string;
	readonly name?: string | undefined;
	/** Undefined for a process of another client. */
	readonly hasStdin?: boolean | undefined;
	/** Value of the variable by which its descendants are found, on a server that does not find them itself. */
	readonly tag?: string | undefined;
	/** Time limit that the server does not enforce. */
	readonly limitMs?: number | undefined;
}

/** A process on another machine. */
export class RemoteProcess extends BaseProcess {
	#isRecoverable = false;
	readonly name: string | undefined;
	readonly #session: ProcessSession;
	readonly #buffer: ReorderBuffer;
	/** The server takes each write id once, whichever client it comes from. */
	readonly #writePrefix: string;
	readonly #seat = new Seat();
	#processId: string;
	#reference: string | undefined;
	#hasExited = false;
	#writes = 0;
	readonly #hasStdin: boolean;
	readonly #tag: string | undefined;
	/** Shared by all calls of `terminate`: each of them settles when the descendants are gone. */
	#leftoversEnded: Promise<void> | undefined;
	readonly #limitMs: number | undefined;
	/** The time limit that this client enforces was reached before the exit. */
	#isTooLate = false;

	constructor(
		processId: string,
		session: ProcessSession,
		{
			source,
			acknowledges = false,
			afterSeq = 0,
			writePrefix = '',
			name,
			hasStdin = true,
			...rest
		}: RemoteProcessOptions = {},
	) {
		const acknowledge = (seq: number): Promise<unknown> => session.repeat('process/acknowledge', {processId, seq});
		super(source && acknowledges ? new Acknowledger(source, acknowledge) : source);
		this.#processId = processId;
		this.name = name;
		this.#session = session;
		this.#hasStdin = hasStdin;
		this.#tag = rest.tag;
		this.#limitMs = rest.limitMs;
		this.#writePrefix = writePrefix;
		this.#buffer = new ReorderBuffer(event => this.publish(this.#withReason(event)));
		this.#buffer.skipThrough(afterSeq);
		this.raiseLastSeq(afterSeq);
	}

	/** Whether missed events can be recovered: only once the server has confirmed the start. */
	get isRecoverable(): boolean {
		return this.#isRecoverable;
	}

	/** The server has confirmed that there is such a process. */
	handleStarted(): void {
		this.#isRecoverable = true;
		if (this.#limitMs === undefined) return;
		const timer = setTimeout(() => this.#endLate(), Math.min(this.#limitMs, MAX_TIMER_MS));
		(timer as {unref?: () => void}).unref?.();
		this.onOver(() => clearTimeout(timer));
	}

	#endLate(): void {
		this.#isTooLate = !this.#hasExited;
		this.terminate().catch(() => {});
	}

	/** Id on the present connection: the one of an attached process may be another after a lost one. */
	get processId(): string {
		return this.#processId;
	}

	get role(): ProcessRole {
		return this.#seat.role;
	}

	get driver(): string | undefined {
		return this.#seat.driver;
	}

	async read(options: ReadOptions = {}): Promise<ReadResult> {
		if (this.failure !== undefined) return this.lostResult(this.failure);
		try {
			return await this.#session.repeat('process/read', {...options, processId: this.processId});
		} catch (error) {
			if (error instanceof DisconnectedError) return this.lostResult(error.message);
			throw error;
		}
	}

	async snapshot(): Promise<ProcessSnapshot> {
		return this.#session.repeat('process/snapshot', {processId: this.processId});
	}

	async write(bytes: Uint8Array | string): Promise<WriteResult> {
		if (!this.#hasStdin || this.#hasExited) {
			throw inputClosedError(this.processId, this.#hasStdin ? 'exited' : 'noStdin');
		}
		const chunk = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes;
		const writeId = `${this.#writePrefix}${++this.#writes}`;
		// Known to servers of our own that are new enough, and ignored by older ones.
		const strict = this.#session.has('processTerminateMode') && {strict: true};
		const request = encodeWithBytes({processId: this.processId, writeId, chunk, ...strict});
		const result = await this.#drive(() => this.#session.repeat('process/write', request));
		if (result.status !== 'accepted') throw inputClosedError(this.processId, result.status);
		return result;
	}

	async closeStdin(): Promise<void> {
		await this.#drive(() => this.#session.repeat('process/closeStdin', {processId: this.processId}));
	}

	async resize(size: {rows: number; cols: number}): Promise<void> {
		await this.#drive(() => this.#session.call('process/resize', {processId: this.processId, ...size}));
	}

	protected async sendSignal(signal: WireSignal): Promise<void> {
		await this.#drive(() => this.#session.call('process/signal', {processId: this.processId, signal}));
	}

	/** Delivered after a recovery if the connection is lost. */
	async terminate(mode: TerminateMode = 'force'): Promise<TerminateResult> {
		const answer = await this.#session.repeat('process/terminate', {processId: this.processId, mode});
		const result = this.reportTermination(mode, answer);
		if (this.#tag === undefined || !mode) return result;
		this.#leftoversEnded ??= endTagged(this.#session, this.#tag);
		await this.#leftoversEnded;
		return result;
	}

	async takeOver(options: TakeOverOptions = {}): Promise<void> {
		const {size} = readOptions<TakeOverOptions>(options, TAKE_OVER_OPTIONS, 'takeOver()');
		await this.#requireAttach('takeOver()');
		await this.#session.attachAgain(this, {role: 'drive', takeover: true, size});
	}

	/** Attaches again at once: what happens in between is delivered then. */
	async giveBack(): Promise<void> {
		await this.#requireAttach('giveBack()');
		await this.#session.call('process/detach', {processId: this.processId});
		try {
			await this.#session.attachAgain(this, {role: 'observe', takeover: false});
		} catch (error) {
			// It is not attached any more: no event would ever come.
			if (error instanceof RejectedError) this.fail(`failed to attach to process ${this.processId}: ${error.reason}`);
			throw error;
		}
	}

	async detach(): Promise<void> {
		await this.#requireAttach('detach()');
		await this.#session.call('process/detach', {processId: this.processId});
		this.#session.forget(this);
		this.abandon('this client has detached from the process');
	}

	override async waitFor<K extends keyof WaitCondition>(
		condition: Pick<WaitCondition, K>,
		options?: WaitOptions,
	): Promise<WaitResultOf<K>> {
		const {waitOnServer} = await import('./server-wait.js');
		return waitOnServer(this, this.#session, condition, options);
	}

	async screen(options: ScreenOptions = {}): Promise<Screen> {
		return fetchScreen(this.#session, this.processId, options);
	}

	logs(options?: LogOptions): AsyncIterableIterator<LogEntry> {
		return readLogs(this, this.#session, options);
	}

	logPage(options?: LoggedPageOptions): Promise<LoggedPage> {
		return fetchLogPage(this, this.#session, options);
	}

	recording(options?: {readonly signal?: AbortSignal | undefined}): AsyncIterableIterator<RecordingEntry> {
		return readRecording(this, this.#session, options);
	}

	async share(options: ShareOptions = {}): Promise<ProcessShare> {
		return requestShare(this.#session, this.processId, options);
	}

	shares(): Promise<ListedShare[]> {
		return requestShares(this.#session, this.processId);
	}

	unshare(shareId: string): Promise<boolean> {
		return requestUnshare(this.#session, shareId);
	}

	async remove(): Promise<void> {
		await requestRemoval(this.#session, this.processId);
	}

	/** Ends the process, if it has not ended, and everything below it; leaves one of another client alone. */
	async [Symbol.asyncDispose](): Promise<void> {
		if (this.isOver) return;
		try {
			if (this.#reference === undefined) await this.terminate();
			else await this.detach();
		} catch (error) {
			// Without a connection the server ends it, with the session.
			if (!(error instanceof DisconnectedError)) throw error;
		}
	}

	/** Id or name to attach by; undefined for a process whose events come with the session. */
	get reference(): string | undefined {
		return this.#reference;
	}

	/** Takes the answer to a client that attached. After a lost connection, listeners are told if the driver has changed. */
	attached(
		reference: string,
		{processId, role, driver, firstSeq}: Result<'process/attach'>,
		{isRecovery = false}: {isRecovery?: boolean} = {},
	): void {
		this.#reference = reference;
		this.#processId = processId;
		this.#buffer.expectGapThrough(firstSeq - 1);
		const change = this.#seat.granted(role, driver ?? undefined);
		if (isRecovery && change) this.announce(change);
	}

	/** Sequence number of the last published event. */
	get published(): number {
		return this.#buffer.published;
	}

	/** Set while missed events are still to be read: live ones that find no room before them are dropped and read, too. */
	set isCatchingUp(value: boolean) {
		this.#buffer.dropsExcess = value;
	}

	/** True if live events were dropped that have not been read since. */
	get hasDropped(): boolean {
		return this.#buffer.hasDropped;
	}

	/** Publishes missed events that the server has retained, and a gap for evicted output; throws when they do not fit. */
	catchUp(page: ReadResult): void {
		this.#take(reconcile(this.#known(), page), page);
	}

	/** The same with the first ones only; false if they cannot be told from an exit among them without the rest. */
	catchUpPartly(page: ReadResult): boolean {
		const caughtUp = reconcilePage(this.#known(), page);
		if (caughtUp) this.#take(caughtUp, page);
		return caughtUp !== undefined;
	}

	#known(): KnownEvents {
		return {published: this.published, hasExited: this.#hasExited, has: seq => this.#buffer.has(seq)};
	}

	#take({events, lostThrough}: CaughtUp, {missedBytes}: ReadResult): void {
		if (lostThrough !== undefined) {
			this.publish({kind: 'gap', afterSeq: this.published, throughSeq: lostThrough, missedBytes});
			this.#buffer.skipThrough(lostThrough);
		}
		for (const event of events) this.receive(event);
	}

	/** Accepts an event or a gap in any order; it is published in sequence order. */
	receive(event: NumberedEvent | Gap): void {
		if (this.failure !== undefined) return;
		this.raiseLastSeq(event.kind === 'gap' ? event.throughSeq : event.seq);
		try {
			if (event.kind === 'gap') return this.#buffer.addGap(event);
			this.#buffer.add(event);
			if (event.kind === 'exited') this.#hasExited ||= this.#buffer.has(event.seq);
		} catch (error) {
			if (!(error instanceof ReorderError)) throw error;
			this.fail(error.message);
		}
	}

	/** Accepts a change of driver, size or audience. */
	receiveChange(change: ProcessChange): void {
		if (change.kind === 'driverChanged') this.#seat.changed(change);
		this.announce(change);
	}

	/** Marks the process as lost. */
	fail(message: string): void {
		this.publishFailure(message);
	}

	#withReason<E extends NumberedEvent | Gap>(event: E): E {
		const isTold = event.kind !== 'exited' || event.reason !== undefined;
		return isTold || !this.#isTooLate ? event : {...event, reason: 'timeout'};
	}

	async #requireAttach(what: string): Promise<void> {
		if (this.failure !== undefined) throw new ProcessLostError(this.failure);
		requireCapability((await this.#session.describe()).capabilities, 'processAttach', what);
	}

	/** The refusal may come before the notification that another client drives. */
	async #drive<T>(request: () => Promise<T>): Promise<T> {
		try {
			return await request();
		} catch (error) {
			if (error instanceof RejectedError && error.errorCode === 'NOT_DRIVER')
				this.#seat.refused(error.context['driver']);
			throw error;
		}
	}
}
