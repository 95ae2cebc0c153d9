// covers: src/server/state/server-state.ts
import {symlinkSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {Command, run} from '../helpers/command.js';
import {scratchDirectory} from '../helpers/scratch.js';

test('a server whose default state directory cannot be looked at warns, and serves', async () => {
	const home = join(scratchDirectory(), 'loop');
	symlinkSync('loop', home);
	const server = new Command(['serve', '--log-format', 'json'], {env: {XDG_STATE_HOME: home}});
	const url = await server.url();
	await server.logs('the state directory cannot be used');
	expect(await run(['run', '-e', url, '--', 'echo', 'served'])).toMatchObject({code: 0, stdout: 'served\n'});
});
