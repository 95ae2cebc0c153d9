// covers: scripts/check-upstream.mjs, scripts/report-upstream.mjs, scripts/interop.mjs, scripts/lib/stock-codex.mjs
import {type SpawnSyncReturns, spawnSync} from 'node:child_process';
import {chmodSync, existsSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';
import {needs} from '../helpers/needs.js';
import {scratchDirectory} from '../helpers/scratch.js';

const KNOWN = ['0.166.0', '0.169.0'];

/** Runs a script with a program of this text in front of others on the PATH. */
function runWith(
	program: string,
	text: string,
	[script, ...args]: readonly [string, ...string[]],
): SpawnSyncReturns<string> {
	const bin = scratchDirectory();
	writeFileSync(join(bin, program), `#!/bin/sh\n${text}\n`);
	chmodSync(join(bin, program), 0o755);
	const file = fileURLToPath(new URL(`../../scripts/${script}`, import.meta.url));
	return spawnSync(process.execPath, [file, ...args], {
		env: {PATH: `${bin}:${process.env['PATH']}`, TMPDIR: scratchDirectory()},
		encoding: 'utf8',
	});
}

test('a release that is recorded is not missing', () => {
	const {status, stdout} = runWith('npm', `echo '"0.169.0"'`, ['check-upstream.mjs', '--json']);
	const report = JSON.parse(stdout) as {known: string[]};
	expect(report).toMatchObject({newest: '0.169.0', isMissing: false});
	expect(report.known).toEqual(expect.arrayContaining(KNOWN));
	expect(status).toBe(0);
});

test('a release that is not recorded is missing, and the command that records it is printed', () => {
	const npm = `[ "$*" = 'view @openai/codex version --json' ] && echo '"99.1.0"'`;
	const {stdout} = runWith('npm', npm, ['check-upstream.mjs', '--json']);
	expect(JSON.parse(stdout)).toMatchObject({newest: '99.1.0', isMissing: true});
	const {stdout: text} = runWith('npm', npm, ['check-upstream.mjs']);
	expect(text).toContain('Newest release: 99.1.0.\nRecord it with: node scripts/record-peer.mjs --peer 99.1.0\n');
});

test('a registry that cannot be asked is an error without the address of the registry', () => {
	const npm = `echo 'npm error code E404\nnpm error 404 https://registry.example/' >&2; exit 1`;
	const {status, stderr} = runWith('npm', npm, ['check-upstream.mjs', '--json']);
	expect([status, stderr]).toEqual([
		1,
		'The newest version of codex is not known: npm view @openai/codex failed (E404).\n',
	]);
});

test('a version that the registry does not have is reported, and the run of the suites fails', () => {
	const transcripts = scratchDirectory();
	const npm = `echo 'npm error code ETARGET' >&2; exit 1`;
	const {status, stdout, stderr} = runWith('npm', npm, [
		'interop.mjs',
		'--peer',
		'99.1.0',
		'--transcripts',
		transcripts,
	]);
	expect(stderr).toContain(
		'codex 99.1.0 is not available: @openai/codex@99.1.0 could not be installed: the npm registry has no such version.\n',
	);
	expect(stdout).toContain('99.1.0: not available, nothing was tested\n');
	expect(status).toBe(1);
});

/** A `gh` that appends its arguments to a file, and lists the given issues. */
function fakeGh(log: string, issues: readonly object[]): string {
	return `printf '%s\\n' "$@" >> '${log}'\n[ "$2" = list ] && echo '${JSON.stringify(issues)}'\nexit 0`;
}

test('a new version is reported in an issue with the differences of its recording', needs('git'), () => {
	const folder = scratchDirectory();
	const [log, interop] = [join(folder, 'calls'), join(folder, 'interop.log')];
	writeFileSync(interop, '0.169.0: 379 passed, 0 failed\n');
	const args = ['report-upstream.mjs', '--peer', '0.169.0', '--interop-log', interop] as const;
	const {status, stdout} = runWith('gh', fakeGh(log, []), args);
	const calls = readFileSync(log, 'utf8');
	expect([status, stdout]).toEqual([0, 'an issue was opened\n']);
	expect(calls).toContain('issue\ncreate\n--title\nA new version of codex differs from the recorded ones\n--body\n');
	expect(calls).toMatch(/^-\t+"sessionLifetimeMs": 30000,$/m);
	expect(calls).toMatch(/^\+\t+"sessionLifetimeMs": 80000,$/m);
	expect(calls).toContain('```\n0.169.0: 379 passed, 0 failed\n```');
});

test('an issue that is open is updated, and a version that could not be recorded is reported too', () => {
	const folder = scratchDirectory();
	const [log, interop] = [join(folder, 'calls'), join(folder, 'interop.log')];
	writeFileSync(interop, 'nothing\n');
	const open = [
		{number: 3, title: 'Another one: A new version of codex differs from the recorded ones'},
		{number: 7, title: 'A new version of codex differs from the recorded ones'},
	];
	const args = ['report-upstream.mjs', '--peer', '99.1.0', '--interop-log', interop] as const;
	const {stdout} = runWith('gh', fakeGh(log, open), args);
	expect(stdout).toBe('issue 7 was updated\n');
	expect(existsSync(log) && readFileSync(log, 'utf8')).toContain(
		'issue\nedit\n7\n--body\ncodex 99.1.0 was released.\n',
	);
	expect(readFileSync(log, 'utf8')).toContain('codex 99.1.0 could not be recorded');
});
