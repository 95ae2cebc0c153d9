// Takes the place of `bufferutil` in the bundle: the native code is loaded for the first message that is worth it, not at
// the start.
'use strict';
const WORTH_IT_BYTES = 1024;
let native;

exports.mask = (source, mask, output, offset, length) => {
	if (length < WORTH_IT_BYTES && !native) plainMask(source, mask, output, offset, length);
	else load().mask(source, mask, output, offset, length);
};

exports.unmask = (buffer, mask) => {
	if (buffer.length < WORTH_IT_BYTES && !native) plainUnmask(buffer, mask);
	else load().unmask(buffer, mask);
};

function load() {
	try {
		native ??= require('bufferutil');
	} catch {
		// It is optional.
		native = {mask: plainMask, unmask: plainUnmask};
	}
	return native;
}

function plainMask(source, mask, output, offset, length) {
	for (let index = 0; index < length; index++) output[offset + index] = source[index] ^ mask[index & 3];
}

function plainUnmask(buffer, mask) {
	for (let index = 0; index < buffer.length; index++) buffer[index] ^= mask[index & 3];
}
