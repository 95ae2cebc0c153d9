import type {ProcessHandle} from '../../client/process/process-handle.js';
import type {ListedProcess} from '../../client/process/shared-process.js';
import {writeAsciicast} from '../../client/recording/asciicast-writer.js';
import type {RecordedEntry} from '../../client/recording/recording.js';
import type {SessionClient} from '../../client/session/session-client.js';

/** Largest file that is put together in the memory of the page. */
export const MAX_SAVED_BYTES = 512 * 1024 * 1024;

/** Hands bytes to the browser as a file to keep. It is never shown as a page. */
export function saveFile(name: string, parts: readonly (Uint8Array | string)[]): void {
	const url = URL.createObjectURL(new Blob(parts as BlobPart[], {type: 'application/octet-stream'}));
	const link = document.createElement('a');
	link.href = url;
	link.download = toFileName(name);
	link.click();
	setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** All output that is kept of a process. */
export async function saveOutput(client: SessionClient, {processId, name}: ListedProcess): Promise<void> {
	const reference = await client.reference(processId);
	const parts: Uint8Array[] = [];
	let length = 0;
	for await (const entry of reference.logs()) {
		if (entry.kind !== 'output') continue;
		length += entry.bytes.length;
		if (length > MAX_SAVED_BYTES) throw new Error('the output is too large for a browser: use longarm logs');
		parts.push(entry.bytes);
	}
	saveFile(`${name ?? processId}.log`, parts);
}

/** The recording of a process in the format of asciinema (asciicast v3). */
export async function saveCast(client: SessionClient, process: ListedProcess): Promise<void> {
	const {processId, name, rows, cols, argv, startedAtMs} = process;
	const reference = await client.reference(processId);
	const entries = withoutGaps(reference.recording());
	const header = {rows: rows ?? 24, cols: cols ?? 80, startedAtMs, command: argv.join(' '), title: name ?? undefined};
	const parts: string[] = [];
	let length = 0;
	for await (const line of writeAsciicast(header, entries)) {
		length += line.length;
		if (length > MAX_SAVED_BYTES) throw new Error('the recording is too large for a browser: use longarm export');
		parts.push(line);
	}
	saveFile(`${name ?? processId}.cast`, parts);
}

async function* withoutGaps(
	entries: ReturnType<ProcessHandle['recording']>,
): AsyncGenerator<RecordedEntry, void, void> {
	for await (const entry of entries) if (entry.kind !== 'gap') yield entry;
}

/** Names are somebody else's: without separators, and not hidden. */
function toFileName(name: string): string {
	return (
		name
			.replaceAll(/[^\p{L}\p{N}._ -]/gu, '_')
			.replace(/^\.+/, '_')
			.slice(0, 120) || 'output'
	);
}
