import {chmodSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test, vi} from 'vitest';
import {bubblewrapArguments} from '../../src/sandbox/bubblewrap.js';
import type {Mount, SandboxedCommand} from '../../src/sandbox/plan.js';
import {seatbeltProfile} from '../../src/sandbox/seatbelt.js';
import {scratchDirectory} from '../helpers/scratch.js';

const COMMAND: SandboxedCommand = {program: 'prog', args: ['a'], arg0: undefined, cwd: '/w', terminal: false};
const HELPERS = {setsid: '/usr/bin/setsid', bash: '/bin/bash'};
const args = (mounts: readonly Mount[], network: 'none' | 'host' = 'none', command = COMMAND, helpers = HELPERS) =>
	bubblewrapArguments({mounts, network}, command, helpers);
const asText = (words: readonly string[]) => words.join(' ');

const end = (command: Partial<SandboxedCommand>) => {
	const words = args([], 'none', {...COMMAND, ...command});
	return words.slice(words.indexOf('--') + 1);
};

describe('the arguments of bubblewrap', () => {
	test('always take every privilege and tie the command to its parent', () => {
		const text = asText(args([{kind: 'write', path: '/'}], 'host'));
		for (const option of ['--unshare-user --disable-userns', '--unshare-pid', '--die-with-parent', '--cap-drop ALL']) {
			expect(text).toContain(option);
		}
		expect(text).toContain('--ro-bind-try /proc/sys /proc/sys');
	});

	test('take the network away only when the plan has none', () => {
		expect(args([], 'none')).toContain('--unshare-net');
		expect(args([], 'host')).not.toContain('--unshare-net');
	});

	test('make the mounts in their order, behind the devices and the processes of its own', () => {
		const text = asText(
			args([
				{kind: 'read', path: '/'},
				{kind: 'write', path: '/w'},
				{kind: 'hidden', path: '/w/d', fileType: 'directory'},
				{kind: 'hidden', path: '/w/f', fileType: 'file'},
				{kind: 'write', path: '/w/d/e'},
			]),
		);
		expect(text).toMatch(/--ro-bind \/ \/ --dev \/dev --proc \/proc .*--bind \/w \/w /);
		expect(text).toContain(
			'--perms 0111 --tmpfs /w/d --ro-bind /dev/null /w/f --bind /w/d/e /w/d/e --remount-ro /w/d --seccomp 3',
		);
	});

	test('leave nothing to write at in a view that begins empty', () => {
		expect(asText(args([{kind: 'link', path: '/bin', to: 'usr/bin'}]))).toContain(
			'--symlink usr/bin /bin --remount-ro / --seccomp',
		);
	});

	test('end with the command as it was named, renamed by a shell, on a terminal by setsid', () => {
		expect(end({})).toEqual(['prog', 'a']);
		expect(end({terminal: true})).toEqual(['/usr/bin/setsid', '-c', 'prog', 'a']);
		expect(end({arg0: 'x y'})).toEqual(['/bin/bash', '-p', '-c', 'exec -a "$0" "$@"', 'x y', 'prog', 'a']);
	});

	test('are refused when something they need is missing', () => {
		const none = {setsid: undefined, bash: undefined};
		const refusal = expect.objectContaining({code: 'NOT_SUPPORTED'}) as unknown as Error;
		const wrap = (command: Partial<SandboxedCommand>) => () =>
			bubblewrapArguments({mounts: [], network: 'none'}, {...COMMAND, ...command}, none);
		expect(wrap({terminal: true})).toThrow(refusal);
		expect(wrap({arg0: 'other'})).toThrow(refusal);
		expect(wrap({cwd: undefined})).toThrow(refusal);
	});
});

test('a bubblewrap that does not work is refused with what it said and what helps', async () => {
	const directory = scratchDirectory();
	writeFileSync(join(directory, 'bwrap'), '#!/bin/sh\necho "no permissions to create namespace" >&2; exit 1\n');
	chmodSync(join(directory, 'bwrap'), 0o755);
	vi.resetModules();
	const {Sandbox} = await import('../../src/sandbox/sandbox.js');
	const sandbox = new Sandbox({PATH: directory});
	expect(sandbox.isLikelyAvailable).toBe(process.platform === 'linux');
	expect(() => sandbox.wrap({mounts: [], network: 'none'}, COMMAND)).toThrow(
		/^sandbox intent cannot be enforced .* does not work: no permissions to create namespace \(install bubblewrap/,
	);
	expect(sandbox.isLikelyAvailable).toBe(false);
});

test('the profile of a macOS sandbox repeats the plan rule by rule', () => {
	const profile = seatbeltProfile({
		mounts: [
			{kind: 'read', path: '/'},
			{kind: 'write', path: '/w "q"'},
			{kind: 'hidden', path: '/w/s', fileType: 'directory'},
		],
		network: 'none',
	});
	expect(profile.split('\n').slice(-4)).toEqual([
		'(allow file-read* (subpath "/"))',
		'(deny file-write* (subpath "/"))',
		String.raw`(allow file-read* file-write* (subpath "/w \"q\""))`,
		'(deny file-read* file-write* (subpath "/w/s"))',
	]);
	expect(profile).toContain('(deny default)');
	expect(profile).not.toContain('network');
});
