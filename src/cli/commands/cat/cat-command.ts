import {FileError} from '../../../client/files/file-error.js';
import {describeLocation, forEachLocation, type Location, type ResolverOptions} from '../../common/locations.js';
import {writeMessage} from '../../common/messages.js';
import {runUntilBrokenPipe, writeOut} from '../../common/stdout.js';

/** Lost links in a row without a byte in between. */
const MAX_FAILED_ATTEMPTS = 3;

/** Writes files to standard output, as fast as they are taken there. */
export function cat(addresses: readonly string[], options: ResolverOptions): Promise<number> {
	return runUntilBrokenPipe(() =>
		forEachLocation(addresses, options, async place => {
			for await (const chunk of resumableRead(place)) await writeOut(chunk);
		}),
	);
}

/** The bytes of a file. After a lost link it is read on where it stopped, if it is still the same file. */
export async function* resumableRead(place: Location): AsyncGenerator<Uint8Array, void, void> {
	const {files, path} = place;
	const {size, modifiedAtMs} = await files.metadata(path);
	let offset = 0;
	for (let vain = 0; ; vain++) {
		try {
			for await (const chunk of files.readStream(path, {offset}) as unknown as AsyncIterable<Uint8Array>) {
				offset += chunk.length;
				vain = 0;
				yield chunk;
			}
			return;
		} catch (error) {
			if (!(error instanceof FileError) || error.code !== 'disconnected' || vain === MAX_FAILED_ATTEMPTS) throw error;
		}
		const now = await files.metadata(path);
		if (now.size !== size || now.modifiedAtMs !== modifiedAtMs) {
			throw new FileError('failed', 'the connection was lost and the file has changed since', {
				path: describeLocation(place),
			});
		}
		writeMessage('note: the connection was lost; going on where it stopped');
	}
}
