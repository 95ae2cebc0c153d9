import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, onTestFinished, test, vi} from 'vitest';
import {needs, optionalProgram} from './needs.js';
import OPTIONAL_PROGRAMS from './optional-programs.json' with {type: 'json'};

const TESTS = fileURLToPath(new URL('..', import.meta.url));
const STARTED = new RegExp(
	String.raw`\b(?:spawn|spawnSync|exec|execSync|execFile|execFileSync)\(\s*['"\x60](?:${Object.keys(OPTIONAL_PROGRAMS).join('|')})\b`,
);

function withoutPrograms(): void {
	const path = process.env['PATH'];
	process.env['PATH'] = '/nonexistent';
	onTestFinished(() => {
		process.env['PATH'] = path;
	});
}

test('a test that needs a missing program is skipped and says which program is missing', () => {
	withoutPrograms();
	expect(needs('git', 'tmux')).toEqual({skip: true, meta: {skipReason: 'git and tmux are not installed'}});
	expect(needs('git')).toEqual({skip: true, meta: {skipReason: 'git is not installed'}});
});

test('a helper that starts a missing program skips the running test', ({task}) => {
	withoutPrograms();
	const skip = vi.spyOn(task.context, 'skip').mockImplementation(() => {
		throw new Error('skipped');
	});
	expect(() => optionalProgram('nats-server')).toThrow('skipped');
	expect(skip).toHaveBeenCalledWith('nats-server is not installed');
});

test('no test starts an optional program by its name', () => {
	const files = readdirSync(TESTS, {recursive: true, encoding: 'utf8'}).filter(file => file.endsWith('.ts'));
	expect(files.filter(file => STARTED.test(readFileSync(join(TESTS, file), 'utf8')))).toEqual([]);
});
