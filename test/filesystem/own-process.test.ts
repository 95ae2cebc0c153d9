import {openSync} from 'node:fs';
import {expect, test} from 'vitest';
import {bytePath} from '../../src/filesystem/byte-path.js';
import {listDirectory} from '../../src/filesystem/directories.js';
import {asyncCalls, syncCalls} from '../../src/filesystem/syscalls.js';

const OWN = bytePath(`/proc/${process.pid}/environ`);

for (const [kind, calls] of Object.entries({synchronous: syncCalls, pooled: asyncCalls})) {
	test(`${kind} calls refuse what shows this process and nothing else of /proc`, async () => {
		const refused = {code: 'EACCES'};
		await expect(async () => calls.stat(OWN)).rejects.toMatchObject(refused);
		await expect(async () => calls.lstat(OWN)).rejects.toMatchObject(refused);
		await expect(listDirectory(calls, bytePath('/proc/self/fd'), 100)).rejects.toMatchObject(refused);
		const fd = openSync(OWN, 'r');
		await expect(async () => calls.fstat(fd)).rejects.toMatchObject(refused);
		await calls.close(fd);

		expect((await calls.stat(bytePath('/proc/1/status'))).isFile()).toBe(true);
		expect((await calls.lstat(bytePath('/proc/self'))).isSymbolicLink()).toBe(true);
		const names = (await listDirectory(calls, bytePath('/proc'), 10_000)).map(({name}) => name);
		expect(names).toContain('cpuinfo');
	});
}
