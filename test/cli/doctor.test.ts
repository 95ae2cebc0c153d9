import {spawnSync} from 'node:child_process';
import {expect, test} from 'vitest';
import {runDoctorChecks} from '../../src/cli/commands/doctor/doctor-checks.js';
import {Command, PROGRAM} from '../helpers/command.js';
import {needs} from '../helpers/needs.js';
import {noSandbox} from '../helpers/sandboxes.js';

test('the doctor tries out what a server needs, and says how to mend what is wrong', async () => {
	const findings = await runDoctorChecks();
	expect(findings.map(({check}) => check)).toEqual([
		'node',
		'loopback listener',
		'native spawner',
		'processes on pipes',
		'terminals',
		'sandbox',
		'user namespaces',
		'control groups',
		'open files',
		'processes',
		'file watches',
	]);
	for (const {status, detail, fix} of findings) {
		expect(detail).not.toBe('');
		expect(status === 'ok' ? fix : (fix ?? 'unknown')).not.toBe('');
	}
	const works = findings.filter(({status}) => status === 'ok').map(({check}) => check);
	expect(works).toEqual(expect.arrayContaining(['node', 'loopback listener', 'processes on pipes', 'terminals']));
});

test('it speaks JSON to programs, and a table to people', async () => {
	const json = new Command(['doctor', '--json']);
	const table = new Command(['doctor']);
	const findings = JSON.parse(await output(json)) as {check: string; status: string}[];
	expect(findings[0]).toMatchObject({check: 'node', status: 'ok'});
	expect(await output(table)).toMatch(/^ok {7}node {2,}v\d+/);
});

/** Runs a command where nobody can make user namespaces. */
const WITHOUT_NAMESPACES = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"';

test('it says that Landlock alone is left where there are no user namespaces', needs('unshare'), async ({skip}) => {
	if (noSandbox('namespaces') !== undefined || noSandbox('landlock') !== undefined) skip('they are missing anyway');
	const doctor = [process.execPath, PROGRAM, 'doctor', '--json'];
	const {stdout} = spawnSync('unshare', ['-Ur', 'sh', '-c', WITHOUT_NAMESPACES, 'sh', ...doctor], {encoding: 'utf8'});
	const findings = JSON.parse(stdout) as {check: string; status: string; detail: string}[];
	const {status, detail} = findings.find(({check}) => check === 'sandbox')!;
	expect(status).toBe('limited');
	expect(detail).toMatch(/^enforced by landlock \(version \d+/);
});

async function output(command: Command): Promise<string> {
	await command.ended;
	return command.stdout;
}
