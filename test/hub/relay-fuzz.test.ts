// covers: src/protocol/relay, src/transports/relay, src/hub/relay, src/shared/noise
import {execFileSync} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';

const FUZZER = fileURLToPath(new URL('../../bench/relay-fuzz.mjs', import.meta.url));

test('random and damaged frames, records and handshakes break no promise, in a short run', () => {
	const seed = String(Math.floor(Math.random() * 1_000_000));
	const report = execFileSync(process.execPath, [FUZZER, '--count', '20000', '--seed', seed], {encoding: 'utf8'});
	expect(report, `seed ${seed}`).not.toContain('VIOLATION');
	for (const outcome of [
		'frame: refused',
		'frame: taken',
		'relay: passed on',
		'channel: delivered',
		'message refused',
	]) {
		expect(report).toContain(outcome);
	}
});
