import {spawnSync} from 'node:child_process';
import {chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {scratchDirectory} from '../helpers/scratch.js';

const SCRIPT = new URL('../../scripts/with-node.mjs', import.meta.url).pathname;

/** An npm that makes a Node which tells its own version and runs nothing, or fails. */
function installer(version: string, status = 0): Installer {
	const [bin, tmp] = [scratchDirectory(), scratchDirectory()];
	const log = join(bin, 'installs');
	const folder = `"$3/node_modules/node/bin"`;
	const node = `printf '#!/bin/sh\\necho v${version}\\n' > ${folder}/node; chmod +x ${folder}/node`;
	writeFileSync(join(bin, 'npm'), `#!/bin/sh\necho x >> ${log}\nmkdir -p ${folder}; ${node}; exit ${status}\n`);
	chmodSync(join(bin, 'npm'), 0o755);
	return {
		tmp,
		installs: () => (existsSync(log) ? readFileSync(log, 'utf8').split('x').length - 1 : 0),
		use: () => {
			const env = {PATH: `${bin}:${process.env['PATH']}`, TMPDIR: tmp};
			const args = [SCRIPT, '24', '--', 'sh', '-c', 'node; exit 3'];
			const {status: code, stdout, stderr} = spawnSync(process.execPath, args, {env, encoding: 'utf8'});
			return {code, stdout, stderr};
		},
	};
}

interface Installer {
	/** The temporary directory of what is run. */
	readonly tmp: string;
	/** How often something was installed. */
	readonly installs: () => number;
	readonly use: () => Used;
}

interface Used {
	readonly code: number | null;
	readonly stdout: string;
	readonly stderr: string;
}

const placeIn = (tmp: string) => join(tmp, `longarm-packages-${process.getuid!()}`);

test('a line of Node is installed once, is first on the PATH, and the exit code is that of the command', () => {
	const {tmp, installs, use} = installer('24.1.0');
	expect(use()).toEqual({code: 3, stdout: 'v24.1.0\n', stderr: 'installing node@24\n'});
	expect(use()).toEqual({code: 3, stdout: 'v24.1.0\n', stderr: ''});
	expect([installs(), readdirSync(placeIn(tmp))]).toEqual([1, ['node-24']]);
});

test('half an installation is made anew', () => {
	const {tmp, installs, use} = installer('24.1.0');
	mkdirSync(join(placeIn(tmp), 'node-24/node_modules/node/bin'), {recursive: true});
	expect(use()).toMatchObject({code: 3, stdout: 'v24.1.0\n'});
	expect([installs(), readdirSync(placeIn(tmp))]).toEqual([1, ['node-24']]);
});

test.each([
	['an installation that fails', () => installer('24.1.0', 1), /^installing node@24\nnode@24 could not be installed/],
	['another line than asked for', () => installer('22.1.0'), /^installing node@24\nnode@24 is installed but cannot be/],
])('%s is said so and leaves nothing', (_name, make, said) => {
	const {tmp, use} = make();
	const {code, stdout, stderr} = use();
	expect([code, stdout]).toEqual([1, '']);
	expect(stderr).toMatch(said);
	expect(readdirSync(placeIn(tmp))).toEqual([]);
});

test('a folder that others can write to is refused: programs of it are run', () => {
	const {tmp, installs, use} = installer('24.1.0');
	mkdirSync(placeIn(tmp));
	chmodSync(placeIn(tmp), 0o777);
	const {code, stderr} = use();
	expect(code).toBe(1);
	expect(stderr).toContain('is not a folder that only you can write to');
	expect(installs()).toBe(0);
});
