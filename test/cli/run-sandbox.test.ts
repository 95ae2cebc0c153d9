import {existsSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, onTestFinished, test} from 'vitest';
import {run} from '../helpers/command.js';
import {needsSandbox} from '../helpers/needs.js';
import {policy, root} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {onTerminal} from '../helpers/terminal.js';
import {CLI_TARGETS} from '../helpers/transports.js';

/** A directory outside of those for temporary files that a policy makes writable. */
function directory(): string {
	const path = mkdtempSync('/var/tmp/longarm-');
	onTestFinished(() => rmSync(path, {recursive: true, force: true}));
	return path;
}

describe.each(Object.entries(CLI_TARGETS))('in %s', (_name, target) => {
	test('run --sandbox restricts a command, and --writable adds a directory', needsSandbox(), async () => {
		const [cwd, more] = [directory(), directory()];
		const where = await target();
		const tell = async (...options: string[]) => {
			const script = `for name in ${cwd}/a ${more}/a; do (echo x > $name) 2>/dev/null && echo "$name"; rm -f $name; done; exit 3`;
			return run(['run', ...where, '--cwd', cwd, ...options, '--', 'sh', '-c', script]);
		};
		expect(await tell('--sandbox', 'read-only')).toMatchObject({code: 3, stdout: '', stderr: ''});
		expect(await tell('--sandbox', 'workspace-write')).toMatchObject({code: 3, stdout: `${cwd}/a\n`});
		const both = await tell('--sandbox', 'workspace-write', '--writable', `../${more.split('/').at(-1)}`);
		expect(both).toMatchObject({code: 3, stdout: `${cwd}/a\n${more}/a\n`});
		const file = join(scratchDirectory(), 'policy.json');
		const {windowsSandboxLevel: _level, ...written} = policy([root('read')]);
		writeFileSync(file, JSON.stringify(written));
		expect(await tell('--sandbox', file)).toMatchObject({code: 3, stdout: ''});
	});
});

test('shell --sandbox restricts what is typed', needsSandbox('setsid'), async () => {
	const cwd = directory();
	const script = 'test -t 0 && touch a; echo "it was $?"';
	const {output} = await onTerminal(['shell', '--cwd', cwd, '--sandbox', 'read-only', '--', 'sh', '-c', script]);
	expect(output).toMatch(/(?:Read-only file system|Permission denied)\r\nit was 1\r\n$/);
});

test.each<[string, string[], RegExp]>([
	['a name that is nearly one', ['--sandbox', 'readonly'], /did you mean `read-only`\?/],
	['a file that is not there', ['--sandbox', '/no/such'], /nor a file that can be read; ENOENT/],
	['text that is no JSON', ['--sandbox', 'README.md'], /is no sandbox policy: .*JSON/],
	['JSON that is no policy', ['--sandbox', 'package.json'], /is no sandbox policy: missing field `permissions`/],
	['directories without a sandbox', ['--writable', '/tmp'], /go with --sandbox/],
	['a network without a sandbox', ['--network'], /go with --sandbox/],
	[
		'a directory that is not there',
		['--sandbox', 'read-only', '--writable', '/no/such'],
		/--writable \/no\/such: there is no/,
	],
	['the whole disk', ['--sandbox', 'workspace-write', '--cwd', '/'], /whole disk writable.*--cwd/],
])('run refuses %s, and runs nothing', async (_what, options, why) => {
	const mark = join(scratchDirectory(), 'mark');
	const {code, stderr} = await run(['run', ...options, '--', 'touch', mark]);
	expect([code, stderr]).toEqual([125, expect.stringMatching(why)]);
	expect(existsSync(mark)).toBe(false);
});

test('a misspelt member of a policy is refused, and so are options that it says itself', async () => {
	const file = join(scratchDirectory(), 'policy.json');
	writeFileSync(file, JSON.stringify(policy([{...root('write'), accesss: 'read'}])));
	const {code, stderr} = await run(['run', '--sandbox', file, '--', 'true']);
	expect([code, stderr]).toEqual([125, expect.stringContaining('`permissions.file_system.entries.0.accesss`')]);
	writeFileSync(file, JSON.stringify(policy([root('read')])));
	expect((await run(['run', '--sandbox', file, '--network', '--', 'true'])).stderr).toContain('policy of your own');
});
