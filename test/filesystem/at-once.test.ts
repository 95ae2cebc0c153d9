import {execFileSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {bytePath} from '../../src/filesystem/byte-path.js';
import * as files from '../../src/filesystem/index.js';
import {mayHang} from '../../src/shared/node/mounts.js';

const FOLLOW = {followSymlinks: true};
const MAX_BYTES = 1000;
const NAMES = [
	'empty',
	'small',
	'largest',
	'too-large',
	'folder',
	'fifo',
	'link',
	'link-to-folder',
	'dangling',
	'missing',
];
let folder: string;

beforeAll(() => {
	folder = mkdtempSync(join(tmpdir(), 'longarm-at-once-'));
	for (const [name, bytes] of Object.entries({empty: 0, small: 10, largest: MAX_BYTES, 'too-large': MAX_BYTES + 1})) {
		writeFileSync(join(folder, name), Buffer.alloc(bytes, name));
	}
	mkdirSync(join(folder, 'folder'));
	execFileSync('mkfifo', [join(folder, 'fifo')]);
	for (const [name, target] of [
		['link', 'small'],
		['link-to-folder', 'folder'],
		['dangling', 'nothing'],
	]) {
		symlinkSync(target!, join(folder, name!));
	}
});

afterAll(() => rmSync(folder, {recursive: true, force: true}));

// With a remote file system on this machine nothing is done at once, and both are the same call.
describe('calls that are done at once', () => {
	test.each(NAMES)('give of %s what the others give, or leave it to them', async name => {
		const path = bytePath(join(folder, name));
		const content = settled(() => files.readFileAtOnce(path, FOLLOW, MAX_BYTES));
		expect(content).toEqual(isLeft(content) ? content : await awaited(files.readFile(path, FOLLOW)));
		const metadata = settled(() => files.getMetadataAtOnce(path, FOLLOW));
		expect(metadata).toEqual(mayHang() ? {value: undefined} : await awaited(files.getMetadata(path, FOLLOW)));
	});

	test('read small files, and no others', () => {
		const read = NAMES.filter(name => settled(() => readNamed(name)).value !== undefined);
		expect(read).toEqual(mayHang() ? [] : ['empty', 'small', 'largest', 'link']);
	});

	test('leave a file without a size to those that read to its end', () => {
		expect(files.readFileAtOnce(bytePath('/proc/version'), FOLLOW, MAX_BYTES)).toBeUndefined();
	});

	test('leave requests that follow no links to those that hold directories', () => {
		const links = {followSymlinks: false};
		expect(files.readFileAtOnce(bytePath(join(folder, 'small')), links, MAX_BYTES)).toBeUndefined();
		expect(files.getMetadataAtOnce(bytePath(join(folder, 'small')), links)).toBeUndefined();
	});

	test('refuse a file that shows this process', () => {
		const path = bytePath(join(folder, 'environment'));
		symlinkSync('/proc/self/environ', join(folder, 'environment'));
		const {error} = settled(() => files.getMetadataAtOnce(path, FOLLOW));
		expect(mayHang() || error).toMatch(/true|FILE_REFUSED/);
	});
});

function readNamed(name: string): Uint8Array | undefined {
	return files.readFileAtOnce(bytePath(join(folder, name)), FOLLOW, MAX_BYTES);
}

interface Outcome {
	readonly value?: unknown;
	readonly error?: string;
}

/** Whether a call left its work to another one. */
function isLeft({value, error}: Outcome): boolean {
	return value === undefined && error === undefined;
}

function settled(call: () => unknown): Outcome {
	try {
		return {value: call()};
	} catch (error) {
		return {error: describeError(error)};
	}
}

async function awaited(promise: Promise<unknown>): Promise<Outcome> {
	try {
		return {value: await promise};
	} catch (error) {
		return {error: describeError(error)};
	}
}

function describeError(error: unknown): string {
	const {code, message} = error as Error & {code: string};
	return `${code}: ${message}`;
}
