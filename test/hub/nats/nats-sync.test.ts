// covers: src/hub/nats/nats-sync.ts, src/hub/nats/nats-server-child.ts
import {readFileSync, writeFileSync} from 'node:fs';
import {delimiter, join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {startNatsServer} from '../../../src/hub/nats/nats-server-child.js';
import {warnOfSync} from '../../../src/hub/nats/nats-sync.js';
import {silentLogger} from '../../../src/shared/logger.js';
import {optionalProgram} from '../../helpers/needs.js';
import {scratchDirectory} from '../../helpers/scratch.js';

const SETTING = 'sync_interval: always';

test.each([
	['2.9.10', false, /does not sync what it acknowledges.*Run 2\.10\.0 or later, and set `sync_interval: always`/],
	['2.9.10', true, /does not sync what it acknowledges/],
	['2.12.9', false, /cannot be asked.*set `sync_interval: always`.*--nats-synced/],
	['2.12.9', true, /^$/],
])('the hub warns of NATS %s, said to sync: %s', (version, isSynced, expected) => {
	const warnings: string[] = [];
	const logger = {...silentLogger, warn: (text: string) => void warnings.push(text)};
	warnOfSync({version, server: '127.0.0.1:4222'}, isSynced, logger);
	expect(warnings.join('\n')).toMatch(expected);
});

/** The server of the PATH says that it has this version, and is not given the setting that it may not know. */
function pretendVersion(version: string): void {
	const program = optionalProgram('nats-server');
	const directory = scratchDirectory();
	const lines = [
		'#!/bin/sh',
		`if [ "$1" = --version ]; then echo "nats-server: v${version}"; exit; fi`,
		`sed 's/, ${SETTING}//' "$2" > "$2.used"`,
		`exec ${program} -c "$2.used"`,
	];
	writeFileSync(join(directory, 'nats-server'), lines.join('\n'), {mode: 0o755});
	const before = process.env['PATH'];
	process.env['PATH'] = `${directory}${delimiter}${before}`;
	onTestFinished(() => {
		process.env['PATH'] = before;
	});
}

test('a server that the hub starts syncs if it can, whatever the server of an earlier hub could', async () => {
	const directory = scratchDirectory();
	const readConfig = (): string => readFileSync(join(directory, 'nats-server.conf'), 'utf8');
	pretendVersion('2.9.10');
	const older = await startNatsServer(directory, silentLogger);
	expect([older.isSynced, readConfig().includes(SETTING)]).toEqual([false, false]);
	await older.close();
	pretendVersion('2.12.9');
	const newer = await startNatsServer(directory, silentLogger);
	onTestFinished(() => newer.close());
	expect([newer.isSynced, readConfig().includes(`, ${SETTING} }`)]).toEqual([true, true]);
});
