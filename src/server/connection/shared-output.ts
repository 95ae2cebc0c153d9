import type {Chunk, OutputLog} from '../../processes/output/output-log.js';
import {encodeNotification, encodeWithBytes} from '../../protocol/wire/encode.js';
import type {SharedFrame} from '../../protocol/wire/shared-frame.js';
import {encodeShared} from '../../transports/node/frame-pools.js';

/** Encoded output that is held for slower connections, of all processes together. */
const MAX_SHARED_BYTES = 8 * 1024 * 1024;
/** Memory of one entry beside its bytes, so that small ones are bounded, too. */
const ENTRY_BYTES = 512;

interface SharedEntry {
	readonly owner: SharedOutput;
	readonly seq: number;
	readonly frame: SharedFrame;
}

/** Entries of all processes, the oldest first. */
const recent = new Set<SharedEntry>();
let recentBytes = 0;

const outputs = new WeakMap<OutputLog, Map<string, SharedOutput>>();

/**
 * Notifications of output of one process that is delivered to several connections: those that are at about the same place
 * send the same bytes, encoded and read from disk once.
 */
export class SharedOutput {
	readonly #processId: string;
	readonly #entries = new Map<number, SharedEntry>();

	private constructor(processId: string) {
		this.#processId = processId;
	}

	/** That of the connections which know the process by the same id. */
	static of(log: OutputLog, processId: string): SharedOutput {
		const byId = outputs.get(log) ?? new Map<string, SharedOutput>();
		const known = byId.get(processId);
		if (known) return known;
		const output = new SharedOutput(processId);
		outputs.set(log, byId.set(processId, output));
		return output;
	}

	/** Releases the memory for a process that is no longer delivered to several. */
	static forget(log: OutputLog): void {
		for (const output of outputs.get(log)?.values() ?? []) {
			for (const entry of output.#entries.values()) drop(entry);
		}
		outputs.delete(log);
	}

	find(seq: number): SharedFrame | undefined {
		return this.#entries.get(seq)?.frame;
	}

	/** Encodes a chunk that was not found. */
	add({seq, stream, bytes}: Chunk): SharedFrame {
		const params = encodeWithBytes({processId: this.#processId, seq, stream, chunk: bytes});
		const frame = encodeShared(encodeNotification('process/output', params));
		const entry = {owner: this, seq, frame};
		this.#entries.set(seq, entry);
		recent.add(entry);
		recentBytes += frame.byteLength + ENTRY_BYTES;
		for (const oldest of recent) {
			if (recentBytes <= MAX_SHARED_BYTES || oldest === entry) break;
			drop(oldest);
		}
		return frame;
	}

	/** The entry was dropped. */
	delete(seq: number): void {
		this.#entries.delete(seq);
	}
}

function drop(entry: SharedEntry): void {
	const {owner, seq, frame} = entry;
	recent.delete(entry);
	recentBytes -= frame.byteLength + ENTRY_BYTES;
	owner.delete(seq);
	frame.release();
}
