import {isTransportTarget, schemeOf} from '../../../transports/node/registry.js';
import {parseAddress} from '../../common/address.js';
import {LocationResolver} from '../../common/locations.js';
import {resolveTarget} from '../../common/resolve-target.js';
import {listEntries} from '../ls/listed-entries.js';

/** Time limit for the answer of the other machine: somebody waits at the prompt. */
const MAX_ANSWER_MS = 2000;
/** Names offered for one word. */
const MAX_OFFERED_NAMES = 1000;

/**
 * Addresses that begin like this word, directories with a slash behind. None if the machine does not answer in time, or
 * a program would have to be started for it, which may ask for a password.
 */
export async function completeAddress(word: string): Promise<string[]> {
	const found: string[] = [];
	const late = new Promise<void>(resolve => setTimeout(resolve, MAX_ANSWER_MS).unref());
	try {
		await Promise.race([collectAddresses(word, found), late]);
	} catch {
		// A prompt is no place for errors.
	}
	return found;
}

async function collectAddresses(word: string, found: string[]): Promise<void> {
	const address = parseAddress(word);
	if (address.place.kind !== 'named') return;
	const target = await resolveTarget(address.place.environment);
	if (isTransportTarget(target) && schemeOf(target).startsServer) return;
	const slash = address.path.lastIndexOf('/') + 1;
	const [directory, begin] = [address.path.slice(0, slash), address.path.slice(slash)];
	const head = word.slice(0, word.length - begin.length);
	await using places = new LocationResolver({environment: undefined, quiet: true});
	const place = await places.find({...address, path: directory});
	const wanted = Buffer.from(begin).toString('latin1');
	for await (const {name, kind, isRoot} of listEntries(place, {detailed: false})) {
		if (isRoot || !name.startsWith(wanted) || (name.startsWith('.') && !begin.startsWith('.'))) continue;
		// Names of peers go to a terminal: those with control characters are left out, and those that are no text.
		const text = Buffer.from(name, 'latin1').toString();
		if (/[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\uFFFD]/u.test(text)) continue;
		found.push(`${head}${text}${kind === 'directory' ? '/' : ''}`);
		if (found.length === MAX_OFFERED_NAMES) return;
	}
}
