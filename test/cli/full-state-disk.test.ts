// covers: src/server/state/disk-waits.ts, src/processes/wait/process-wait.ts, src/server/keeper/kept-spill.ts
import {rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, onTestFinished, test} from 'vitest';
import {Command, run} from '../helpers/command.js';
import {listLivingKeepers} from '../helpers/keepers.js';
import {askUntil} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {needsMount, smallDisk} from '../helpers/small-disk.js';

const MiB = 1024 * 1024;
/** Waits for a file, since a process whose files do not fit on the disk cannot be started. */
const FLOOD = `while [ ! -e "$0" ]; do sleep 0.05; done; head -c ${6 * MiB} /dev/zero; exec sleep 1000`;
const WARNING = 'the disk of the state directory takes no more output';

interface Row {
	readonly name: string;
	readonly state: string;
	readonly waitingFor: string | null;
	readonly outputBytes: number;
}

describe('on a full disk of the state', needsMount(), () => {
	test.each(['-d', '--keep'])(
		'a process (run %s) is listed as waiting, warned of once and counted, and continues with more room',
		async option => {
			const disk = smallDisk('12m');
			const state = join(disk, 'state');
			const ballast = join(disk, 'ballast');
			const go = join(scratchDirectory(), 'go');
			writeFileSync(ballast, Buffer.alloc(10 * MiB));
			onTestFinished(() => {
				for (const {pid} of listLivingKeepers(state)) process.kill(pid, 'SIGKILL');
			});
			const server = new Command(['serve', '--log-level', 'warn', '--state', state]);
			const url = await server.url();
			const list = async (): Promise<Row[]> => JSON.parse((await run(['ps', '--json', '-e', url])).stdout) as Row[];
			const readMetric = async (name: string): Promise<number> => {
				const text = await (await fetch(`${url.replace('ws:', 'http:')}/metrics`)).text();
				return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
			};
			for (const name of ['one', 'other']) {
				expect(await run(['run', option, '-e', url, '--name', name, '--', 'sh', '-c', FLOOD, go])).toMatchObject({
					code: 0,
				});
			}
			writeFileSync(go, '');
			const waiting = await askUntil(list, rows => rows.filter(({waitingFor}) => waitingFor === 'disk').length === 2);
			expect(waiting).toMatchObject([{state: 'running'}, {state: 'running'}]);
			expect((await run(['ps', '-e', url])).stdout).toMatch(/ disk /);
			expect(await readMetric('exec_server_processes_waiting_for_disk')).toBe(2);
			expect(await readMetric('exec_server_disk_waits_total')).toBeGreaterThanOrEqual(2);
			expect(server.stderr.split(WARNING)).toHaveLength(2);
			expect(await run(['stop', 'other', '-e', url, '--signal', 'KILL'])).toMatchObject({code: 0});
			rmSync(ballast);
			await askUntil(list, ([row]) => row?.waitingFor === null && row.outputBytes === 6 * MiB);
			await askUntil(
				() => readMetric('exec_server_processes_waiting_for_disk'),
				count => count === 0,
			);
			expect(server.stderr.split(WARNING)).toHaveLength(2);
			expect(await run(['stop', 'one', '-e', url])).toMatchObject({code: 0});
		},
	);
});
