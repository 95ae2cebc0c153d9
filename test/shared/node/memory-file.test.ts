import {openSync} from 'node:fs';
import {expect, test} from 'vitest';
import {F_DUPFD_CLOEXEC, loadMemoryFileCalls, openMemoryFile} from '../../../src/shared/node/memory-file.js';
import {unless} from '../../helpers/needs.js';
import {countOpenDescriptors} from '../../helpers/processes.js';

function noCalls(): string | undefined {
	try {
		loadMemoryFileCalls();
		return undefined;
	} catch {
		return 'koffi cannot be loaded';
	}
}

test('a file in memory that cannot be filled is closed', unless(noCalls()), () => {
	const libc = loadMemoryFileCalls();
	// In place of the file one that takes nothing.
	const full = {
		...libc,
		fcntl: (fd: number, command: number, argument: number) =>
			command === F_DUPFD_CLOEXEC ? openSync('/dev/full', 'r+') : libc.fcntl(fd, command, argument),
	};
	const before = countOpenDescriptors();
	const open = (): number => openMemoryFile(full, Buffer.from('content'), {minFd: 3}, () => new Error('refused'));
	expect(open).toThrow(expect.objectContaining({code: 'ENOSPC'}));
	expect(countOpenDescriptors()).toBe(before);
});
