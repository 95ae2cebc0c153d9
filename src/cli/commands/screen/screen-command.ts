import {findProcess, type GivenProcess} from '../../../environments/processes/find-process.js';
import {writeJson, writeLines} from '../../common/messages.js';
import {type ProcessPlace, withProcess} from '../../common/processes/open-process.js';
import {runUntilBrokenPipe, writeOut} from '../../common/stdout.js';
import {type Moment, parseMoment} from '../../common/times.js';
import {EXIT} from '../../exit-codes.js';
import {toColouredLine} from './coloured-line.js';

export interface ScreenCommandOptions extends ProcessPlace {
	readonly at: string | undefined;
	readonly ansi: boolean;
	readonly json: boolean;
}

/** Prints the screen of a terminal. */
export function screen(id: string, request: ScreenCommandOptions): Promise<number> {
	const {at, ansi, json} = request;
	const moment = at === undefined ? undefined : parseMoment('--at', at);
	return withProcess(id, request, async process => {
		const reference = await process.environment.processes.reference(process.reference);
		const atMs = moment && (await toDate(moment, process));
		const shown = await reference.screen({
			format: ansi ? 'ansi' : 'text',
			...(atMs !== undefined && {at: atMs}),
		});
		if (json) {
			writeJson(shown, '\t');
			return EXIT.ok;
		}
		const lines = dropEmptyEnd(shown.lines);
		if (!ansi) {
			writeLines(lines);
			return EXIT.ok;
		}
		return runUntilBrokenPipe(async () => {
			await writeOut(lines.map(line => `${toColouredLine(line)}\n`).join(''));
			return EXIT.ok;
		});
	});
}

/** Milliseconds since 1970. */
async function toDate(moment: Moment, process: GivenProcess): Promise<number> {
	if (moment.kind === 'date') return moment.ms;
	if (moment.kind === 'ago') return Date.now() - moment.ms;
	return (await findProcess(process)).startedAtMs + moment.ms;
}

function dropEmptyEnd(lines: readonly string[]): readonly string[] {
	return lines.slice(0, lines.findLastIndex(line => line.trim() !== '') + 1);
}
