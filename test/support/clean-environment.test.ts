import {readdirSync} from 'node:fs';
import {homedir} from 'node:os';
import {expect, test} from 'vitest';

test('processes of tests have a home directory of their own', () => {
	expect(homedir()).toMatch(/\/longarm-home-\w+$/);
	for (const name of ['.profile', '.bash_profile', '.bashrc', '.zprofile', '.npmrc']) {
		expect(readdirSync(homedir())).not.toContain(name);
	}
});

test('nothing of the variables of the user who runs the tests reaches them', () => {
	const foreign = /^(?:XDG_|npm_|LC_|CODEX_(?!BIN$)|LONGARM_(?!TEST_)|NODE_(?!ENV$)|https?_proxy$)/i;
	const names = Object.keys(process.env);
	expect(names.filter(name => foreign.test(name))).toEqual([]);
	for (const name of ['SHELL', 'ENV', 'BASH_ENV', 'PROMPT_COMMAND', 'SSL_CERT_FILE']) expect(names).not.toContain(name);
	expect([process.env['LANG'], process.env['TZ'], process.umask()]).toEqual(['C.UTF-8', 'UTC', 0o022]);
});
