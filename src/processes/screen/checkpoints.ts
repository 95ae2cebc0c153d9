import {promisify} from 'node:util';
import {deserialize, serialize} from 'node:v8';
import {deflateRaw, inflateRaw} from 'node:zlib';
import type {ModelState} from './terminal-model.js';

/** Output between two checkpoints of a process, until they have to be thinned out. */
export const CHECKPOINT_SPACING_BYTES = 4 * 1024 * 1024;
/** Checkpoints of one process, and their bytes. */
export const MAX_CHECKPOINTS = 64;
export const MAX_CHECKPOINT_BYTES = 1024 * 1024;
/** Speed matters more than size: a screen is mostly blanks. */
const COMPRESSION_LEVEL = 1;

/** A place between two events of a process, and how a model got there. */
export interface ScreenPosition {
	/** Number of the last event before it. */
	readonly seq: number;
	/** Changes of size after that event which are before it, too. */
	readonly resizes: number;
	/** Time of the last event before it, if events have one. */
	readonly ms: number | undefined;
	/** Output before it, missing or not. */
	readonly bytes: number;
	/** Output before it that was missing. */
	readonly missedBytes: number;
}

export interface Checkpoint {
	readonly position: ScreenPosition;
	/** Compressed. */
	readonly state: Uint8Array;
}

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

export async function createCheckpoint(position: ScreenPosition, state: ModelState): Promise<Checkpoint> {
	return {position, state: await deflate(serialize(state), {level: COMPRESSION_LEVEL})};
}

export async function openCheckpoint({state}: Checkpoint): Promise<ModelState> {
	return deserialize(await inflate(state)) as ModelState;
}

/** States of one process's screen to begin from, in the order of the output. Every other one is dropped when there are too many. */
export class Checkpoints {
	#spacing: number;
	#list: Checkpoint[] = [];
	#bytes = 0;

	constructor(spacingBytes = CHECKPOINT_SPACING_BYTES) {
		this.#spacing = spacingBytes;
	}

	get count(): number {
		return this.#list.length;
	}

	/** The last one that `isBefore` accepts; it has to accept all before that, too. */
	findLast(isBefore: (position: ScreenPosition) => boolean): Checkpoint | undefined {
		return this.#list.findLast(({position}) => isBefore(position));
	}

	/** Whether one is missing around this place. */
	isDueAt({bytes}: ScreenPosition): boolean {
		const next = this.#list.findIndex(({position}) => position.bytes > bytes);
		const above = this.#list[next]?.position.bytes ?? Number.POSITIVE_INFINITY;
		const below = (next === -1 ? this.#list.at(-1) : this.#list[next - 1])?.position.bytes ?? 0;
		return bytes - below >= this.#spacing && above - bytes >= this.#spacing;
	}

	add(checkpoint: Checkpoint): void {
		if (checkpoint.state.length > MAX_CHECKPOINT_BYTES) return;
		const {seq, resizes} = checkpoint.position;
		const isBehind = ({position}: Checkpoint): boolean =>
			position.seq > seq || (position.seq === seq && position.resizes >= resizes);
		const at = this.#list.findIndex(isBehind);
		const found = this.#list[at]?.position;
		if (found?.seq === seq && found.resizes === resizes) return;
		this.#list.splice(at === -1 ? this.#list.length : at, 0, checkpoint);
		this.#bytes += checkpoint.state.length;
		while (this.#list.length > MAX_CHECKPOINTS || this.#bytes > MAX_CHECKPOINT_BYTES) this.#thinOut();
	}

	/** The last one stays: most requests are for the present. */
	#thinOut(): void {
		this.#spacing *= 2;
		const {length} = this.#list;
		this.#list = this.#list.filter((_, index) => (length - 1 - index) % 2 === 0);
		this.#bytes = this.#list.reduce((sum, {state}) => sum + state.length, 0);
	}
}
