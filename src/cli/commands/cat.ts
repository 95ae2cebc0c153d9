import {forEachPlace} from '../each-place.js';
import {untilBrokenPipe, writeOut} from '../stdout.js';
import {steadyRead} from '../steady-read.js';

/** Writes files to standard output, as fast as they are taken there. */
export function cat(addresses: readonly string[], environment: string | undefined): Promise<number> {
	return untilBrokenPipe(() =>
		forEachPlace(addresses, environment, async place => {
			for await (const chunk of steadyRead(place)) await writeOut(chunk);
		}),
	);
}
