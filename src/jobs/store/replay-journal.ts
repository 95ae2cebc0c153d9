import type {FileHandle} from 'node:fs/promises';
import {errorMessage, LongarmError} from '../../shared/errors.js';
import {Yielder} from '../../shared/node/yielder.js';
import type {ItemTable} from './item-table.js';
import type {JobRecord} from './job-records.js';
import {readPlacedLines} from './line-file.js';

/**
 * Applies the records of a journal to the table. Returns the byte behind the last whole one: a last line that is torn, as a
 * crash in the middle of a write leaves it, counts as not written. Throws for one that is not the last.
 */
export async function replayJournal(file: FileHandle, table: ItemTable): Promise<number> {
	const {size} = await file.stat();
	const yielder = new Yielder();
	let end = 0;
	let number = 0;
	let torn: string | undefined;
	for await (const {place, bytes} of readPlacedLines(file, size)) {
		number++;
		if (torn !== undefined) throw damaged(torn);
		const record = parseRecord(bytes);
		if (!record) {
			torn = `line ${number} of the journal is no record`;
			continue;
		}
		try {
			table.apply(record, place);
		} catch (error) {
			throw damaged(`line ${number} of the journal: ${errorMessage(error)}`);
		}
		end = place + bytes.length + 1;
		await yielder.yieldIfDue();
	}
	return end;
}

function parseRecord(bytes: Buffer): JobRecord | undefined {
	try {
		const record = JSON.parse(bytes.toString()) as JobRecord | null;
		return typeof record === 'object' && record !== null && typeof record.type === 'string' ? record : undefined;
	} catch {
		return undefined;
	}
}

function damaged(message: string): LongarmError {
	return new LongarmError('JOB_UNUSABLE', {message});
}
