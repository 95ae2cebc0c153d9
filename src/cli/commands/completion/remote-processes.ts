import {LOCAL} from '../../../environments/environment-provider.js';
import {waitAtMost} from '../../../shared/async/timeout.js';
import {isTransportTarget, schemeOf} from '../../../transports/node/registry.js';
import {openEnvironment} from '../../common/environments.js';
import {printable} from '../../common/printable.js';
import {readDefault, resolveTarget} from '../../common/resolve-target.js';

/** Time limit for the answer: somebody waits at the prompt. */
const MAX_WAIT_MS = 2000;
/** Words offered for one word. */
const MAX_OFFERED_PROCESSES = 1000;

/**
 * Names and ids of processes that begin like this word, those that have ended included. None if the environment does not
 * answer in time, or a program would have to be started for it.
 */
export async function completeProcess(word: string, given: string | undefined): Promise<string[]> {
	const found: string[] = [];
	// A prompt is no place for errors.
	const collected = collectProcesses(word, given, found).catch(() => {});
	await waitAtMost(collected, MAX_WAIT_MS);
	return found;
}

async function collectProcesses(word: string, given: string | undefined, found: string[]): Promise<void> {
	const name = given ?? (await readDefault()).name;
	if (name === undefined || (await startsServer(name))) return;
	await using environment = await openEnvironment(name, {quiet: true});
	const processes = await environment.processes.list({all: true, includeEnded: true});
	const words = processes.flatMap(each => (each.name ? [each.name, each.processId] : [each.processId]));
	for (const each of new Set(words)) {
		// Texts of peers go to a terminal: those with control characters are left out, and those that are no single word.
		if (!each.startsWith(word) || printable(each) !== each || /[\s'"\\$`&;|<>()*?~#]/.test(each)) continue;
		found.push(each);
		if (found.length === MAX_OFFERED_PROCESSES) return;
	}
}

async function startsServer(name: string): Promise<boolean> {
	if (name === LOCAL) return false;
	const target = await resolveTarget(name);
	return isTransportTarget(target) && schemeOf(target).startsServer;
}
