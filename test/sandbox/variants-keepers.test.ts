import {chmodSync} from 'node:fs';
import {dirname} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';
import {keeperPaths} from '../../src/server/keeper/keeper-record.js';
import {describeEnforcers} from '../helpers/enforcers.js';
import {uri} from '../helpers/files.js';
import {DURABLE, listLivingKeepers, serveState, serveStateUnprivileged, stateDirectory} from '../helpers/keepers.js';
import {unless} from '../helpers/needs.js';
import {eventually} from '../helpers/processes.js';
import {at, policy, special, workspacePolicy} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {listRunningWith, noUnprivilegedServer} from '../helpers/subreaper.js';

const PROGRAM = fileURLToPath(new URL('../fixtures/become-client.py', import.meta.url));

/** Seconds that no other process sleeps, as an argument by which the process is found. */
let seconds = 80_000 + (process.pid % 10_000);

/** Shows the program alone, so that no enforcer has to hide the state directory below something readable. */
const NETWORKED = policy([special({kind: 'minimal'}, 'read'), at(dirname(PROGRAM), 'read')], {network: 'enabled'});

describeEnforcers(
	'a process in a sandbox',
	enforcer => {
		const settings = ['--sandbox-enforcer', enforcer];
		const other = unless(noUnprivilegedServer());

		test.each(['plain', 'orphan', 'exec'])('becomes no client of a keeper of its server: %s', async way => {
			const state = stateDirectory();
			const {client} = await serveState(state, ...settings);
			await client.sh('kept', 'sleep 1000', DURABLE);
			const keeper = listLivingKeepers(state)[0]!;
			const {socket} = keeperPaths(state, keeper.generation);
			const start = async (id: string, more: Record<string, unknown>): Promise<string> => {
				await client.start(id, ['python3', PROGRAM, way, socket, '-'], more);
				const {stdout} = await client.done(id);
				return stdout.trim();
			};
			expect(await start('free', {})).toBe('101');
			expect(await start('held', {sandbox: NETWORKED})).not.toBe('101');
		});

		test.each([
			['as this user', false],
			['as another one', true],
		])('leaves nothing in a keeper, %s', other, async (_name, isForOtherUser) => {
			const state = stateDirectory({isForOtherUser});
			const {client} = await (isForOtherUser ? serveStateUnprivileged : serveState)(state, ...settings);
			const argument = `${seconds++}.25`;
			const daemon = `setsid sh -c 'setsid sleep ${argument} > /dev/null 2>&1 & exit' &`;
			await client.sh('p', `${daemon} wait; sleep ${argument}`, {...DURABLE, sandbox: NETWORKED});
			await eventually(() => listRunningWith(argument).length === 2);
			await client.call('process/signal', {processId: 'p', signal: {name: 'KILL'}});
			await eventually(() => listRunningWith(argument).length === 0);
			expect(listRunningWith(argument)).toEqual([]);
		});

		test('that is kept counts for the links of later policies', async () => {
			const {client} = await serveState(stateDirectory(), ...settings);
			const base = scratchDirectory();
			chmodSync(base, 0o755);
			const script = 'ln -s /usr link';
			const sandbox = policy([special({kind: 'minimal'}, 'read'), at(base, 'write')]);
			await client.sh('p', script, {...DURABLE, sandbox, cwd: uri(base)});
			await client.event('p', 'process/exited');
			const next = {sandbox: workspacePolicy(`${base}/link`)};
			for (const more of [{}, DURABLE]) {
				await expect(client.sh('q', 'true', {...next, ...more})).rejects.toThrow(/may have made/);
			}
		});
	},
	{programs: ['python3', 'setsid']},
);
