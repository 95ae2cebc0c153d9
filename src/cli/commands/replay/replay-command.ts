import {createReadStream, existsSync} from 'node:fs';
import {isatty} from 'node:tty';
import {readAsciicast} from '../../../client/recording/asciicast-reader.js';
import {type RecordedEntry, RecordingError} from '../../../client/recording/recording.js';
import {replay} from '../../../client/recording/replay.js';
import {errorMessage} from '../../../shared/errors.js';
import {InterruptedError, Interruption} from '../../common/interruption.js';
import {writeMessage} from '../../common/messages.js';
import {type ProcessPlace, withProcess} from '../../common/processes/open-process.js';
import {parseShareLink} from '../../common/processes/share-link.js';
import {runUntilBrokenPipe, writeOut} from '../../common/stdout.js';
import {parseTimeOption} from '../../common/times.js';
import {EXIT, usageError} from '../../exit-codes.js';
import {withoutGaps} from '../export/export-command.js';
import {MissingOutput} from '../run/attach/missing-output.js';
import {ScreenModes} from '../run/attach/screen-modes.js';

export interface ReplayRequest extends ProcessPlace {
	readonly speed: string | undefined;
	readonly idle: string | undefined;
}

interface Pace {
	readonly speed: number;
	readonly idleLimitMs: number | undefined;
}

const STDOUT = 1;

/** Shows a recording at its pace. */
export async function replayCommand(given: string, request: ReplayRequest): Promise<number> {
	const pace: Pace = {speed: parseSpeed(request.speed), idleLimitMs: parseTimeOption('--idle', request.idle)};
	if (isFile(given, request)) return replayFile(given, pace);
	return withProcess(given, request, async ({environment, reference}) => {
		const missing = new MissingOutput();
		using interruption = new Interruption();
		const {signal} = interruption;
		const recorded = await environment.processes.reference(reference);
		const code = await play(withoutGaps(recorded.recording({signal}), missing), pace, signal);
		if (!missing.isSome) return code;
		writeMessage(`longarm: ${missing.describe()} of output are missing: they are no longer kept`);
		return code === EXIT.ok && !isatty(STDOUT) ? EXIT.notRun : code;
	});
}

async function replayFile(path: string, pace: Pace): Promise<number> {
	using interruption = new Interruption();
	try {
		const {entries} = await readAsciicast(createReadStream(path));
		return await play(entries, pace, interruption.signal);
	} catch (error) {
		if (!(error instanceof RecordingError) && (error as NodeJS.ErrnoException).code === undefined) throw error;
		writeMessage(`error: ${path}: ${errorMessage(error)}`);
		return EXIT.failed;
	}
}

async function play(entries: AsyncIterable<RecordedEntry>, pace: Pace, signal: AbortSignal): Promise<number> {
	const modes = new ScreenModes();
	return runUntilBrokenPipe(async () => {
		try {
			await replay(entries, {
				...pace,
				signal,
				write: async bytes => {
					modes.scan(bytes);
					await writeOut(bytes);
				},
			});
			return EXIT.ok;
		} catch (error) {
			if (error instanceof InterruptedError) return error.exitCode;
			throw error;
		} finally {
			if (isatty(STDOUT)) await writeOut(modes.endings);
		}
	});
}

/** A process of a given environment, or of a link, is no file. */
function isFile(given: string, {environment}: ProcessPlace): boolean {
	if (environment !== undefined || parseShareLink(given)) return false;
	return given.includes('/') || given.endsWith('.cast') || existsSync(given);
}

function parseSpeed(text: string | undefined): number {
	if (text === undefined) return 1;
	const speed = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : 0;
	if (speed > 0) return speed;
	throw usageError(`--speed ${text}: expected a number above 0, such as 2 or 0.5`);
}
