import type {GivenProcess} from '../../../environments/processes/find-process.js';
import {errorMessage} from '../../../shared/errors.js';
import {EXIT, usageError} from '../../exit-codes.js';
import {openEnvironment} from '../environments.js';
import {hintOf} from '../hint-of.js';
import {writeMessage} from '../messages.js';
import {explainRefusal, type ProcessPlace, withEnvironment} from './open-process.js';
import {parseShareLink} from './share-link.js';

/**
 * Runs work for processes, one after the other, in one environment. A failure is reported and the next one is tried; the
 * exit code tells.
 */
export async function forEachProcess(
	references: readonly string[],
	place: ProcessPlace,
	work: (process: GivenProcess) => Promise<number>,
): Promise<number> {
	if (references.some(reference => parseShareLink(reference))) {
		throw usageError('a link is for one process and one role, which is not that of its owner; give the id or name');
	}
	const environment = await openEnvironment(place.environment, {...place, isNamed: true});
	return withEnvironment(environment, async () => {
		let worst: number = EXIT.ok;
		for (const reference of references) {
			const process = {environment, reference};
			try {
				worst = Math.max(worst, await work(process));
			} catch (error) {
				report(await explainRefusal(error, process));
				worst = EXIT.failed;
			}
		}
		return worst;
	});
}

function report(error: unknown): void {
	const hint = hintOf(error);
	writeMessage(`error: ${errorMessage(error)}`, ...(hint === undefined ? [] : [`hint: ${hint}`]));
}
