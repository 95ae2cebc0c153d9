import type {Child, ChildEvents} from '../../processes/backends/backend.js';
import type {ManagedProcess} from '../../processes/managed-process.js';
import {copyChunk, MAX_READ_BYTES} from '../../processes/output/chunk-pool.js';
import type {Exit, OutputStream} from '../../processes/output/output-log.js';
import type {OutputBlock} from '../../processes/output/output-spill.js';
import {EndedSpill} from '../../processes/spill/ended-spill.js';
import type {Params} from '../../protocol/methods/method-table.js';
import type {Notification} from '../../protocol/wire/envelope.js';
import {toBytes} from '../../protocol/wire/fields.js';
import type {HeldProcess} from './keeper-methods.js';
import {KeptSpill} from './kept-spill.js';

type Exited = Params<'process/exited'>;
type Output = {readonly seq: number; readonly stream: OutputStream; readonly chunk: string | Uint8Array};

/** A process of this server that lives in a keeper: its log repeats the events there, with the same numbers. */
export class FollowedProcess {
	readonly process: ManagedProcess;
	readonly #held: HeldProcess;
	#events: ChildEvents | undefined;

	constructor(process: ManagedProcess, held: HeldProcess, connect: () => Child) {
		this.process = process;
		this.#held = held;
		process.follow(events => {
			this.#events = events;
			return connect();
		});
	}

	/** Number of the last event that is known here. */
	get seq(): number {
		return this.process.log.nextSeq - 1;
	}

	get isOver(): boolean {
		return this.process.log.closedSeq !== undefined;
	}

	/** False if events are missing before this one. */
	take({method, params}: Notification): boolean {
		const {seq} = params as {readonly seq?: number};
		if (seq === undefined || seq <= this.seq || this.isOver) return true;
		if (seq !== this.seq + 1) return false;
		if (method === 'process/output') this.#takeOutput(params as Output);
		else if (method === 'process/exited') this.#takeExit(params as Exited);
		else if (method === 'process/closed') this.#close();
		return true;
	}

	/** The output of the process waits where it runs, or no longer does. */
	block(blockedOn: OutputBlock | undefined): void {
		const {spill} = this.process.options;
		if (spill instanceof KeptSpill) spill.blockedOn = blockedOn;
	}

	/** The keeper has no more to say: the rest is on disk, or nowhere. */
	finishFromDisk(): void {
		if (this.isOver) return;
		try {
			this.#readRest(EndedSpill.open(this.#held.directory));
		} catch {
			// Removed, or damaged: then nothing is known.
		}
		if (this.process.log.exit) this.#close();
		else this.process.lose();
	}

	#readRest(spill: EndedSpill): void {
		const {exit} = spill;
		const reader = spill.openReader(this.seq);
		try {
			for (let chunk = reader.next(); chunk; chunk = reader.next()) {
				if (exit && exit.seq < chunk.seq) this.#reportExit(exit);
				if (chunk.seq !== this.seq + 1) break;
				this.#takeOutput({...chunk, chunk: chunk.bytes});
			}
		} finally {
			reader.close();
		}
		if (exit) this.#reportExit(exit);
	}

	#takeOutput({stream, chunk}: Output): void {
		const bytes = toBytes(chunk);
		// The bytes are the transport's.
		const isPooled = bytes.length <= MAX_READ_BYTES;
		const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
		this.#events!.output(stream, isPooled ? copyChunk(source, source.length) : Buffer.from(source));
	}

	#takeExit({exitCode, reason = 'exit', sandboxDenied}: Exited): void {
		const isSandboxed = this.#held.sandbox !== 'none';
		this.#reportExit({exitCode, reason, ...(isSandboxed && {sandboxDenied: sandboxDenied === true})});
	}

	#reportExit({exitCode, reason, sandboxDenied}: Exit): void {
		if (this.process.log.exit) return;
		const told = {reason, ...(sandboxDenied !== undefined && {sandboxDenied})};
		this.#events!.exited({exitCode, isSignaled: reason === 'signal', told});
	}

	#close(): void {
		for (const stream of this.#held.streams) this.#events!.streamEnded(stream);
	}
}
