import {readdirSync, readlinkSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {listDescendants} from '../../src/processes/tree/process-tree.js';
import {describeEnforcers} from '../helpers/enforcers.js';
import {LoginHome} from '../helpers/login-shells.js';
import {policy, root} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';

const SANDBOX = {sandbox: policy([root('read')])};

describeEnforcers('a shell snapshot in a sandbox', sandboxEnforcer => {
	test.for([{tty: false}, {tty: true}])(
		'restores the state, with a terminal: $tty, and limits of children',
		async ({tty}) => {
			const home = new LoginHome('bash', 'f() { echo "f $1"; }; shopt -s expand_aliases; alias a="f a"; export V=1');
			const session = await home.client({sandboxEnforcer, childLimits: {openFiles: 321}});
			for (const id of ['first', 'second']) {
				const {stdout, pty, stderr} = await home.run(session, id, 'f $V; a; ls -1 /proc/self/fd', {...SANDBOX, tty});
				expect((stdout + pty).split(/\r?\n/)).toEqual(['f 1', 'f a', '0', '1', '2', '3', '']);
				expect(stderr).toBe('');
			}
		},
	);

	test('is taken inside, and serves no command outside', async () => {
		const outside = join(scratchDirectory(), 'written');
		const home = new LoginHome(
			'bash',
			`if echo 2>/dev/null >> '${outside}'; then where=outside; else where=inside; fi
			eval "where() { echo $where; }"`,
		);
		const session = await home.client({sandboxEnforcer});
		const sandboxes = [SANDBOX, {}, SANDBOX, {}];
		const results = [];
		for (const [index, sandbox] of sandboxes.entries()) {
			results.push((await home.run(session, `p${index}`, 'where', sandbox)).stdout.trim());
		}
		expect(results).toEqual(['inside', 'outside', 'inside', 'outside']);
		// The profile counts its runs in a file that the sandbox lets nobody write.
		expect(home.runs).toBe(1);
	});

	test('is held open by no process of the sandbox', async () => {
		const home = new LoginHome();
		const session = await home.client({sandboxEnforcer});
		await home.start(session, 'p', 'echo ready; read forever', {...SANDBOX, pipeStdin: true});
		await session.shows('p', 'ready');
		const {processes} = await session.call<{processes: {pid: number}[]}>('process/list');
		const wrapper = processes[0]!.pid;
		const pids = [wrapper, ...listDescendants(wrapper).map(({pid}) => pid)];
		expect(pids.length).toBeGreaterThan(1);
		expect(pids.flatMap(listOpenFiles).filter(target => target.includes('memfd:'))).toEqual([]);
	});
});

function listOpenFiles(pid: number): string[] {
	const directory = `/proc/${pid}/fd`;
	return readdirSync(directory).map(fd => readlinkSync(join(directory, fd)));
}
