import {FileError} from '../client/files/file-error.js';
import {parseAddress} from './address.js';
import {type NamedPlace, Places} from './places.js';
import {printable, printableReason} from './printable.js';

/**
 * Does something for each address, in their order. Where that fails it says so in a line and goes on; the exit code. What
 * is written may find nobody reading: `untilBrokenPipe` is for that.
 */
export async function forEachPlace(
	given: readonly string[],
	environment: string | undefined,
	work: (place: NamedPlace, given: string) => Promise<void>,
): Promise<number> {
	await using places = new Places(environment);
	const addresses = given.map(text => ({text, address: parseAddress(text)}));
	let failed = 0;
	for (const {text, address} of addresses) {
		const place = await places.find(address);
		try {
			await work(place, text);
		} catch (error) {
			if (!(error instanceof FileError)) throw error;
			failed++;
			process.stderr.write(`error: ${printable(text)}: ${printableReason(error)}\n`);
		}
	}
	return failed > 0 ? 1 : 0;
}
