import {base64Length} from '../base64.js';
import {loadKoffi} from './koffi.js';

/** Encodes `source` into `target`; returns the bytes written. Throws if there is no room for them. */
export type WriteBase64 = (source: Uint8Array, target: Uint8Array) => number;

/** `simdutf::binary_to_base64(const char *, size_t, char *, simdutf::base64_options)`, which Node's buffers use, too. */
const SIGNATURE =
	'size_t _ZN7simdutf16binary_to_base64EPKcmPcNS_14base64_optionsE(void *source, size_t length, void *target, uint64_t options)';
/** The usual alphabet, with padding. */
const DEFAULT_OPTIONS = 0;
/** Every byte value, and a length that needs padding. */
const SAMPLE = Buffer.from(Array.from({length: 259}, (_, index) => index & 255));

/**
 * Node's encoder straight into memory: Node itself offers it as a maker of strings only, which are copied twice before
 * they are where they have to be. Undefined where it is not found, or does something else.
 */
export function loadNativeBase64(): WriteBase64 | undefined {
	if (process.platform !== 'linux') return undefined;
	try {
		const encode = loadKoffi().load(null).func(SIGNATURE);
		const write: WriteBase64 = (source, target) => {
			// It does not know where the memory ends.
			if (base64Length(source.length) > target.length) throw new RangeError('no room for the base64');
			return Number(encode(source, source.length, target, DEFAULT_OPTIONS));
		};
		return isRight(write) ? write : undefined;
	} catch {
		return undefined;
	}
}

function isRight(write: WriteBase64): boolean {
	const expected = SAMPLE.toString('base64');
	const target = Buffer.alloc(expected.length + 8, '.');
	return write(SAMPLE, target) === expected.length && target.toString('latin1') === `${expected}........`;
}
