// covers: src/hub/relay, src/transports/relay, src/transports/node/relay, src/client/session
import {execFileSync} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';

const TRIAL = fileURLToPath(new URL('../../bench/hub-cuts.mjs', import.meta.url));

test('processes that stream through a hub whose lines break lose no byte unannounced, in a short run', () => {
	const seed = String(Math.floor(Math.random() * 1_000_000));
	const report = execFileSync(process.execPath, [TRIAL, '--cuts', '25', '--seed', seed], {encoding: 'utf8'});
	expect(report, `seed ${seed}`).not.toContain('**NO**');
	const [, read] = /MiB written \/ read back \| [\d.]+ \/ ([\d.]+)/.exec(report) ?? [];
	expect(Number(read), `seed ${seed}`).toBeGreaterThan(0);
});
