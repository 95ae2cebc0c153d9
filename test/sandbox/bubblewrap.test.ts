import {chmodSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import {bubblewrapArguments, bubblewrapVariables, requireFewArguments} from '../../src/sandbox/bubblewrap.js';
import type {Mount, SandboxedCommand} from '../../src/sandbox/plan.js';
import {seatbeltCommand, seatbeltProfile} from '../../src/sandbox/seatbelt.js';
import {scratchDirectory} from '../helpers/scratch.js';

const COMMAND: SandboxedCommand = {
	program: 'prog',
	args: ['a'],
	arg0: undefined,
	cwd: '/w',
	terminal: false,
	environment: new Map(),
};
const HELPERS = {setsid: '/usr/bin/setsid', bash: '/bin/bash', maskedFiles: ['/proc/keys'], bindsDescriptors: false};
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
		expect(text).toMatch(/--proc \/proc .*--ro-bind \/dev\/null \/proc\/keys/);
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
			'--perms 0111 --tmpfs /w/d --perms 0000 --ro-bind-data 16 /w/f --bind /w/d/e /w/d/e --remount-ro /w/d --seccomp 3',
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
		const none = {setsid: undefined, bash: undefined, maskedFiles: [], bindsDescriptors: false};
		const refusal = expect.objectContaining({code: 'NOT_SUPPORTED'}) as unknown as Error;
		const wrap = (command: Partial<SandboxedCommand>) => () =>
			bubblewrapArguments({mounts: [], network: 'none'}, {...COMMAND, ...command}, none);
		expect(wrap({terminal: true})).toThrow(refusal);
		expect(wrap({arg0: 'other'})).toThrow(refusal);
		expect(wrap({cwd: undefined})).toThrow(refusal);
	});
});

const variables = (entries: readonly [string, string][]) =>
	Buffer.from(bubblewrapVariables({...COMMAND, environment: new Map(entries)})).toString();

const many = (count: number) => new Map(Array.from({length: count}, (_, at) => [`V${at}`, '']));

describe('the variables of the command', () => {
	test('are set one by one, whatever they hold, and are no arguments of the wrapper', () => {
		expect(variables([])).toBe('--clearenv\0');
		const entries: [string, string][] = [
			['A', 'x y\n"$B"'],
			['EMPTY', ''],
			['--', '--bind'],
			['ü', 'ö='],
		];
		expect(variables(entries)).toBe(
			'--clearenv\0--setenv\0A\0x y\n"$B"\0--setenv\0EMPTY\0\0--setenv\0--\0--bind\0--setenv\0ü\0ö=\0',
		);
		const secret = args([], 'none', {...COMMAND, environment: new Map([['SECRET', 'hush']])});
		expect(asText(secret)).not.toMatch(/SECRET|hush/);
		expect(asText(secret)).toMatch(/^--args 4 /);
	});

	test('have the name that ends at the first equals sign, and the first of a name counts', () => {
		const entries: [string, string][] = [
			['a=b', 'c'],
			['a', 'd'],
		];
		expect(variables(entries)).toBe('--clearenv\0--setenv\0a\0b=c\0');
		expect(() => variables([['', 'x']])).toThrow(/a variable without a name/);
		expect(() => variables([['=x', 'y']])).toThrow(/a variable without a name/);
	});

	test('are refused when there are more than bubblewrap takes', () => {
		expect(() => requireFewArguments([], {...COMMAND, environment: many(2999)})).not.toThrow();
		expect(() => requireFewArguments([], {...COMMAND, environment: many(3000)})).toThrow(/too many arguments/);
	});
});

test('a bubblewrap that does not work is refused with what it said and what helps', async () => {
	const directory = scratchDirectory();
	writeFileSync(join(directory, 'bwrap'), '#!/bin/sh\necho "no permissions to create namespace" >&2; exit 1\n');
	chmodSync(join(directory, 'bwrap'), 0o755);
	vi.resetModules();
	vi.doMock('../../src/sandbox/trusted-program.js', () => ({
		findTrustedProgram: () => ({file: join(directory, 'bwrap')}),
	}));
	onTestFinished(() => vi.doUnmock('../../src/sandbox/trusted-program.js'));
	const {Sandbox} = await import('../../src/sandbox/sandbox.js');
	const sandbox = new Sandbox({}, () => [], 'bubblewrap');
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
	expect(profile.split('\n').slice(-5)).toEqual([
		'(allow file-read* (subpath "/"))',
		'(deny file-write* (subpath "/"))',
		String.raw`(allow file-read* file-write* (subpath "/w \"q\""))`,
		'(deny file-read* file-write* (subpath "/w/s"))',
		'(deny file-write-setugid)',
	]);
	expect(profile).toContain('(deny default)');
	expect(profile).not.toContain('network');
});

test('the command of a macOS sandbox gets its variables inside', () => {
	const command = {...COMMAND, environment: new Map([['DYLD_INSERT_LIBRARIES', 'x']])};
	const {argv} = seatbeltCommand({mounts: [], network: 'none'}, command);
	expect(argv.slice(3)).toEqual(['/usr/bin/env', '-i', 'DYLD_INSERT_LIBRARIES=x', 'prog', 'a']);
	expect(() => seatbeltCommand({mounts: [], network: 'none'}, {...command, program: './a=b'})).toThrow(/`env`/);
});
