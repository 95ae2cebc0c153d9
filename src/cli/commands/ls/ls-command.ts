import {isatty} from 'node:tty';
import {toSafeJson} from '../../../shared/safe-json.js';
import {forEachLocation} from '../../common/locations.js';
import {printable} from '../../common/printable.js';
import {runUntilBrokenPipe, writeOut} from '../../common/stdout.js';
import {listEntries} from './listed-entries.js';
import {formatEntry, toEntryObject} from './listing-lines.js';

export interface ListCommandOptions {
	readonly environment: string | undefined;
	readonly quiet: boolean;
	readonly long: boolean;
	readonly all: boolean;
	readonly json: boolean;
}

/** Size of one write. */
const PIECE_BYTES = 64 * 1024;

/** Lists directories and files. */
export function ls(addresses: readonly string[], options: ListCommandOptions): Promise<number> {
	return runUntilBrokenPipe(() => list(addresses, options));
}

async function list(addresses: readonly string[], options: ListCommandOptions): Promise<number> {
	const {long, all, json} = options;
	const lineOptions = {long, isForTerminal: isatty(1)};
	const output = new Lines();
	let isFirst = true;
	const code = await forEachLocation(addresses, options, async (place, given) => {
		let isHeaded = json || (addresses.length === 1 && !place.isMatched);
		for await (const entry of listEntries(place, {detailed: long || json})) {
			if (!all && !entry.isRoot && entry.name.startsWith('.')) continue;
			if (json) {
				await output.add(`${isFirst ? '[' : ','}\n${toSafeJson(toEntryObject(place, entry))}`);
				isFirst = false;
				continue;
			}
			if (place.isMatched && entry.isRoot) {
				await output.add(Buffer.concat([formatEntry({...entry, name: place.given}, lineOptions), Buffer.from('\n')]));
				isFirst = false;
				continue;
			}
			if (!isHeaded) await output.add(`${isFirst ? '' : '\n'}${printable(given)}:\n`);
			isHeaded = true;
			isFirst = false;
			await output.add(Buffer.concat([formatEntry(entry, lineOptions), Buffer.from('\n')]));
		}
		await output.flush();
	});
	if (json) await writeOut(isFirst ? '[]\n' : '\n]\n');
	return code;
}

/** Collects lines, so that they are written together. */
class Lines {
	#pieces: Buffer[] = [];
	#bytes = 0;

	async add(piece: Buffer | string): Promise<void> {
		const bytes = Buffer.from(piece as string);
		this.#pieces.push(bytes);
		this.#bytes += bytes.length;
		if (this.#bytes >= PIECE_BYTES) await this.flush();
	}

	async flush(): Promise<void> {
		const bytes = Buffer.concat(this.#pieces);
		this.#pieces = [];
		this.#bytes = 0;
		await writeOut(bytes);
	}
}
