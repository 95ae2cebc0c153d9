import {FileError} from '../../../client/files/file-error.js';
import {describeLocation, type Location} from '../../common/locations.js';

/** What the two ends compare at a time: each reads its own file, and only checksums travel. */
const RANGE_BYTES = 64 * 1024 * 1024;

/** Where two files begin to differ, to the range; undefined if they do not before `end`. */
export async function firstDifference(
	one: Location,
	other: Location,
	{from, end, signal}: {from: number; end: number; signal: AbortSignal},
): Promise<number | undefined> {
	for (let offset = from; offset < end; offset += RANGE_BYTES) {
		signal.throwIfAborted();
		const range = {offset, length: Math.min(RANGE_BYTES, end - offset)};
		const [here, there] = await Promise.all([one.files.digest(one.path, range), other.files.digest(other.path, range)]);
		if (here.length < range.length) throw changed(one);
		if (here.sha256 !== there.sha256 || here.length !== there.length) return offset;
	}
	return undefined;
}

export function changed(place: Location): FileError {
	return new FileError('failed', 'it changed while it was copied', {path: describeLocation(place)});
}
