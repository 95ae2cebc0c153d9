// covers: src/processes/backends/backend.ts and both backends (spawn failures)
import {mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, describe, expect, test} from 'vitest';
import type {Backend, SpawnRequest} from '../../../src/processes/backends/backend.js';
import type {LongarmError} from '../../../src/shared/errors.js';
import {
	describeEachBackend,
	type Io,
	nativeBackend,
	openChannels,
	PIPES,
	PIPES_WITH_STDIN,
	PTY,
	Report,
	run,
	sh,
} from '../../helpers/children.js';

const scratch = mkdtempSync(join(tmpdir(), 'longarm-failures-'));
afterAll(() => rmSync(scratch, {recursive: true, force: true}));

function scratchFile(name: string, text: string, mode: number): string {
	writeFileSync(join(scratch, name), text, {mode});
	return join(scratch, name);
}

const notExecutable = scratchFile('not-executable', '#!/bin/sh\n', 0o644);
const withoutFormat = scratchFile('without-format', 'echo ran anyway\n', 0o755);
const missingInterpreter = scratchFile('missing-interpreter', '#!/missing/interpreter\n', 0o755);
const loop = join(scratch, 'loop');
symlinkSync('loop', loop);

const TEXTS = {
	ENOENT: 'No such file or directory (os error 2)',
	E2BIG: 'Argument list too long (os error 7)',
	ENOEXEC: 'Exec format error (os error 8)',
	EACCES: 'Permission denied (os error 13)',
	ENOTDIR: 'Not a directory (os error 20)',
	ELOOP: 'Symbolic link loop (os error 40)',
} as const;

/** The error of a spawn, and any events reported in spite of it. */
async function outcome(backend: Backend, request: SpawnRequest): Promise<object> {
	const report = new Report();
	try {
		await backend.spawn(request, report);
	} catch (error) {
		const {name, code, message, context} = error as LongarmError;
		return {name, code, message, context, story: report.timeline};
	}
	return {name: 'started'};
}

function refused(error: keyof typeof TEXTS, program: string): object {
	const context = {program, error};
	return {name: 'LongarmError', code: 'SPAWN_FAILED', message: TEXTS[error], context, story: []};
}

const inDirectory = (cwd: string) => (io: Io) => sh('true', io, {cwd: Buffer.from(cwd)});
const running = (file: string) => (io: Io) => sh('', io, {file, argv: [file]});
/** One argument longer than Linux takes. */
const tooLong = (io: Io): SpawnRequest => sh('', io, {argv: ['sh', '-c', 'true', 'x'.repeat(131_072)]});

const REFUSALS: [string, (io: Io) => SpawnRequest, keyof typeof TEXTS][] = [
	['a working directory that is missing', inDirectory('/missing'), 'ENOENT'],
	['a working directory that is a file', inDirectory('/bin/sh'), 'ENOTDIR'],
	['a working directory below a file', inDirectory('/bin/sh/below'), 'ENOTDIR'],
	['a working directory that leads nowhere', inDirectory(loop), 'ELOOP'],
	['a program that is missing', running('/missing/program'), 'ENOENT'],
	['a program that is a directory', running('/tmp'), 'EACCES'],
	['a program below a file', running('/bin/sh/below'), 'ENOTDIR'],
	['a program that leads nowhere', running(loop), 'ELOOP'],
	['a program that may not be executed', running(notExecutable), 'EACCES'],
];

describeEachBackend(backend => {
	for (const io of [PIPES, PTY]) {
		test.each(REFUSALS)(`%s is refused at the start on ${io.kind}`, async (_, request, error) => {
			expect(await outcome(backend, request(io))).toEqual(refused(error, request(io).file));
		});
	}

	test('an argument that is too long is refused at the start on pipes', async () => {
		expect(await outcome(backend, tooLong(PIPES))).toEqual(refused('E2BIG', '/bin/sh'));
	});

	test('nothing is left of hundreds of children, started or refused', async () => {
		const kinds = [PIPES, PIPES_WITH_STDIN, PTY];
		const attempt = async (index: number): Promise<unknown> => {
			const io = kinds[index % kinds.length]!;
			if (index % 5 === 0) return outcome(backend, inDirectory('/missing')(io));
			if (index % 5 === 1) return outcome(backend, running(notExecutable)(io));
			return (await run(backend, sh('exit 7', io))).exitCode;
		};
		const expected = [refused('ENOENT', '/bin/sh'), refused('EACCES', notExecutable), 7, 7, 7];
		// Warm-up: libraries and descriptors opened once do not count.
		for (let index = 0; index < 15; index++) await attempt(index);
		const before = openChannels();
		for (let index = 0; index < 210; index += 10) {
			const results = await Promise.all(Array.from({length: 10}, (_, offset) => attempt(index + offset)));
			expect(results).toEqual([...expected, ...expected]);
		}
		expect(openChannels()).toEqual(before);
		expect(childrenOfOurs()).toEqual('');
	});
});

describe('posix_spawn only', () => {
	const backend = nativeBackend();

	test.each([PIPES, PTY])('a file without a format is refused at the start on $kind', async io => {
		expect(await outcome(backend, running(withoutFormat)(io))).toEqual(refused('ENOEXEC', withoutFormat));
	});

	test.each([PIPES, PTY])('a script whose interpreter is missing is refused at the start on $kind', async io => {
		expect(await outcome(backend, running(missingInterpreter)(io))).toEqual(refused('ENOENT', missingInterpreter));
	});

	test('an argument that is too long is refused at the start on a terminal', async () => {
		expect(await outcome(backend, tooLong(PTY))).toEqual(refused('E2BIG', '/bin/sh'));
	});
});

/** The pids of our children, the dead ones nobody has reaped included. */
function childrenOfOurs(): string {
	return readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim();
}
