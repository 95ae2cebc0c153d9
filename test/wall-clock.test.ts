import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDERS = ['src', 'bench', 'scripts', 'examples', 'test/helpers', 'test/support'];
/** Reads the clock of the machine, which an administrator or a time server can set to anything at any moment. */
const WALL_CLOCK = /\bDate\.now\b|\bnew Date\(\)|\bDate\(\)/;

/** Places that mean a date, and whose. */
const DATES: Record<string, string> = {
	'src/shared/node/line-logger.ts': 'the time of a log line',
	'src/server/auth/authenticator.ts': 'the expiry of a token is a date',
	'src/server/auth/signed-tokens.ts': 'the expiry of a token is a date',
	'src/server/state/server-state.ts': 'the start of a process, and the age of files from earlier runs',
	'src/server/state/restore-process.ts': 'the start of a process, which may have been before this boot',
	'src/server/keeper/held-from-disk.ts': 'the same',
	'src/server/sharing/share-tokens.ts': 'the expiry of a token is a date',
	'src/cli/commands/serve/credential-frames.ts': 'the expiry of a credential is a date',
	'src/cli/commands/serve/self-signed-identity.ts': 'the expiry of a certificate is a date',
	'src/transports/node/self-signed-certificate.ts': 'the validity of a certificate',
	'src/filesystem/syscalls.ts': 'the access time of a file',
	'src/processes/managed-process.ts': 'the start of a process in a list',
	'src/client/process/process-logs.ts': 'the beginning of the last minutes of a log',
	'src/agent-tools/spawner.ts': 'the start of a process in an event',
	'src/cli/commands/screen/screen-command.ts': 'a past moment, counted from now',
	'src/agent-loop/model/retry-delays.ts': 'a server may say by a date when to try again',
	'src/cli/commands/fanout/fanout-cancel.ts': 'the time of a record',
	'src/hub/nats/nats-server-child.ts': 'the validity of a certificate',
	'src/hub/registry/tickets.ts': 'the expiry of a ticket, which outlives the program',
	'src/hub/store/hub-tokens.ts': 'the time a token was made',
	'src/jobs/engine/attempt-endings.ts': 'the time of a record',
	'src/jobs/engine/job-runner.ts': 'the time of a record, also of one from an earlier program',
	'src/jobs/hub/directory-jobs.ts': 'the time of a record, and the age of a job that is kept',
	'src/jobs/hub/run-hub-job.ts': 'the time of a record',
	'src/jobs/nats/tenant-jobs.ts': 'the same',
	'src/jobs/run-job.ts': 'the time of a record',
	'src/console/page/machine-samples.ts': 'the time axis of a plot',
	'src/mcp/server/calls/task-table.ts': 'the time of a task in an answer',
	'bench/compare/bench.mjs': 'the date of a report',
	'bench/jobs-nats.mjs': 'the times of messages are those of the brokers',
	'test/helpers/tokens.ts': 'the expiry of a token is a date',
};

function listFiles(folder: string): string[] {
	return readdirSync(join(ROOT, folder), {withFileTypes: true}).flatMap(entry => {
		const path = `${folder}/${entry.name}`;
		if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : listFiles(path);
		return /\.(?:ts|mjs|cjs|js)$/.test(entry.name) ? [path] : [];
	});
}

test('durations are measured by a clock that cannot be set: only dates read the clock of the machine', () => {
	const found = FOLDERS.flatMap(listFiles).filter(path => WALL_CLOCK.test(readFileSync(join(ROOT, path), 'utf8')));
	expect(found.sort()).toEqual(Object.keys(DATES).sort());
});

/** Give up after a second by themselves, which is a limit of time that a busy machine passes. */
const WAITS_OF_THE_RUNNER = /\bexpect\s*\.poll\(|\bvi\.wait(?:For|Until)\(/;

test('tests wait with `eventually` or for an event, not with what gives up after a second', () => {
	const found = listFiles('test').filter(path => WAITS_OF_THE_RUNNER.test(readFileSync(join(ROOT, path), 'utf8')));
	expect(found).toEqual([]);
});
