import {expect, test} from 'vitest';
import {MAX_BLOCK_BYTES, requireBlockLength} from '../../src/filesystem/file-handles.js';

test('a block has at least one byte and at most so many', () => {
	for (const length of [1, MAX_BLOCK_BYTES]) requireBlockLength('read', length);
	for (const length of [0, -1, MAX_BLOCK_BYTES + 1]) {
		expect(() => requireBlockLength('write', length)).toThrow('file write block length must be between 1 and 1048576');
	}
});
