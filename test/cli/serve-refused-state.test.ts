// covers: src/cli/commands/serve/serve-endpoint.ts (the address and a state directory that cannot be used)
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {text} from 'node:stream/consumers';
import {expect, onTestFinished, test} from 'vitest';
import {scratchDirectory} from '../helpers/scratch.js';

const COMMAND = new URL('../../dist/bin/longarm.js', import.meta.url).pathname;

test('a server whose state directory is refused prints no address', async () => {
	const file = join(scratchDirectory(), 'file');
	writeFileSync(file, '');
	const argv = [COMMAND, 'serve', '--listen', 'ws://127.0.0.1:0', '--state', join(file, 'state')];
	const server = spawn(process.execPath, argv, {stdio: ['ignore', 'pipe', 'pipe']});
	onTestFinished(() => void server.kill());
	const [printed, errors] = await Promise.all([text(server.stdout), text(server.stderr), once(server, 'close')]);
	expect(printed).toBe('');
	expect(errors).toContain('cannot be used');
	expect(server.exitCode).not.toBe(0);
});
