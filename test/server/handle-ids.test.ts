import {expect, test} from 'vitest';
import {outcomeOf, served} from '../helpers/process-api.js';

const TOO_LONG = {code: -32600, message: 'file handle ID must not exceed 32 bytes'};

test.each([
	['fs/open', {path: 'file:///tmp'}],
	['fs/readBlock', {offset: 0, len: 1}],
	['fs/writeBlock', {offset: 0, chunk: 'eA=='}],
	['fs/finish', {}],
	['fs/close', {}],
])('%s refuses a handle id that no handle can have', async (method, params) => {
	const {client} = await served();
	for (const handleId of ['h'.repeat(33), 'ü'.repeat(17), 'h'.repeat(1024 * 1024)]) {
		expect(await outcomeOf(client.call(method, {handleId, ...params}))).toEqual(TOO_LONG);
	}
	expect(await outcomeOf(client.call(method, {handleId: 'h'.repeat(32), ...params}))).not.toEqual(TOO_LONG);
});
