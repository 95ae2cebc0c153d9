import {open, rename, rm} from 'node:fs/promises';
import {isatty} from 'node:tty';
import type {ListedProcess, RecordingEntry} from '../../../client/process/shared-process.js';
import {AsciicastWriter, writeAsciicast} from '../../../client/recording/asciicast-writer.js';
import type {RecordedEntry, RecordingHeader} from '../../../client/recording/recording.js';
import {findProcess, type GivenProcess} from '../../../environments/processes/find-process.js';
import {randomHex} from '../../../shared/random-id.js';
import {InterruptedError, Interruption} from '../../common/interruption.js';
import {writeMessage} from '../../common/messages.js';
import {type ProcessPlace, withProcess} from '../../common/processes/open-process.js';
import {runUntilBrokenPipe, writeOut} from '../../common/stdout.js';
import {EXIT, usageError} from '../../exit-codes.js';
import {formatCommand} from '../ps/listed-lines.js';
import {MissingOutput} from '../run/attach/missing-output.js';

export interface ExportRequest extends ProcessPlace {
	/** Standard output when it is undefined. */
	readonly output: string | undefined;
}

const STDOUT = 1;
/** Size of a terminal for output of pipes. */
const USUAL_SIZE = {rows: 24, cols: 80};
const SUFFIX_BYTES = 4;

/** Takes one line after the other. */
type TakeLine = (line: string) => Promise<unknown>;

/** Writes the recording of a process as asciicast. */
export function exportRecording(id: string, request: ExportRequest): Promise<number> {
	const {output} = request;
	if (output === undefined && isatty(STDOUT))
		throw usageError('a recording is not for a terminal; give a file with -o');
	return withProcess(id, request, process =>
		runUntilBrokenPipe(async () => {
			using interruption = new Interruption();
			try {
				const write = (take: TakeLine): Promise<number> => writeRecording(process, take, interruption.signal);
				return output === undefined ? await write(writeOut) : await writeFileAtOnce(output, write);
			} catch (error) {
				if (error instanceof InterruptedError) return error.exitCode;
				throw error;
			}
		}),
	);
}

async function writeRecording(process: GivenProcess, take: TakeLine, signal: AbortSignal): Promise<number> {
	const listed = await findProcess(process);
	const reference = await process.environment.processes.reference(listed.processId);
	const missing = new MissingOutput();
	const writer = new AsciicastWriter();
	const [first, entries] = await peek(withoutGaps(reference.recording({signal}), missing));
	const size = first?.kind === 'resize' ? first : toSize(listed);
	const header: RecordingHeader = {
		rows: size.rows,
		cols: size.cols,
		startedAtMs: listed.startedAtMs,
		command: formatCommand(listed.argv),
		...(listed.name && {title: listed.name}),
	};
	for await (const line of writeAsciicast(header, entries, writer)) await take(line);
	if (writer.replacements > 0)
		writeMessage(`note: ${writer.replacements} characters stand for bytes that are no UTF-8`);
	if (!missing.isSome) return EXIT.ok;
	writeMessage(`error: ${missing.describe()} of output are missing: they are no longer kept`);
	return EXIT.notRun;
}

function toSize({rows, cols}: ListedProcess): typeof USUAL_SIZE {
	return rows && cols ? {rows, cols} : USUAL_SIZE;
}

/** The format has no gaps. */
export async function* withoutGaps(
	entries: AsyncIterable<RecordingEntry>,
	missing: MissingOutput,
): AsyncGenerator<RecordedEntry, void, void> {
	for await (const entry of entries) {
		if (entry.kind === 'gap') missing.add(entry.missedBytes);
		else yield entry;
	}
}

/** The first entry, and all of them. */
async function peek(
	entries: AsyncGenerator<RecordedEntry, void, void>,
): Promise<[RecordedEntry | undefined, AsyncIterable<RecordedEntry>]> {
	const {value: first} = await entries.next();
	const all = async function* (): AsyncGenerator<RecordedEntry, void, void> {
		// A size at the beginning is that of the header.
		if (first && first.kind !== 'resize') yield first;
		yield* entries;
	};
	return [first ?? undefined, all()];
}

/** Half a file is never in the place of a whole one. */
async function writeFileAtOnce(path: string, write: (take: TakeLine) => Promise<number>): Promise<number> {
	const unfinished = `${path}.${randomHex(SUFFIX_BYTES)}.part`;
	const file = await open(unfinished, 'wx');
	try {
		const code = await write(line => file.writeFile(line));
		await file.close();
		await rename(unfinished, path);
		return code;
	} catch (error) {
		await file.close();
		await rm(unfinished, {force: true});
		throw error;
	}
}
