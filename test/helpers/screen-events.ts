import type {TerminalSize} from '../../src/processes/backends/backend.js';
import type {ScreenEvent, ScreenReader, ScreenSource} from '../../src/processes/screen/screen-source.js';
import {TerminalModel} from '../../src/processes/screen/terminal-model.js';

/** Events of a process in memory, each a millisecond after the other. */
export class RecordedScreen implements ScreenSource {
	readonly key = {};
	readonly hasTimes = true;
	readonly initialSize: TerminalSize;
	readonly events: ScreenEvent[] = [];
	/** Bytes that readers were given, over all. */
	deliveredBytes = 0;

	constructor(initialSize: TerminalSize = {rows: 24, columns: 80}) {
		this.initialSize = initialSize;
	}

	get lastSeq(): number {
		return this.events.at(-1)?.seq ?? 0;
	}

	output(bytes: string | Uint8Array): this {
		this.events.push({kind: 'output', seq: this.lastSeq + 1, bytes: Buffer.from(bytes), ms: this.events.length + 1});
		return this;
	}

	resize(rows: number, columns: number): this {
		this.events.push({kind: 'resize', seq: this.lastSeq, size: {rows, columns}, ms: this.events.length + 1});
		return this;
	}

	open(afterSeq: number): ScreenReader {
		const list = this.events.filter(event => (event.kind === 'resize' ? event.seq >= afterSeq : event.seq > afterSeq));
		return {
			next: () => {
				const event = list.shift();
				if (event?.kind !== 'output') return event;
				this.deliveredBytes += event.bytes.length;
				return {...event, bytes: Uint8Array.from(event.bytes)};
			},
			close: () => {},
		};
	}

	/** A model that is fed with the first `count` events, without any of the ways to be faster. */
	async modelAfter(count: number): Promise<TerminalModel> {
		const model = await TerminalModel.create(this.initialSize);
		for (const event of this.events.slice(0, count)) {
			if (event.kind === 'output') model.write(event.bytes);
			else if (event.kind === 'resize') model.resize(event.size);
		}
		return model;
	}
}
