import {expect, test} from 'vitest';
import {listChildren, listDescendants} from '../../src/processes/tree/process-tree.js';
import {describeEnforcers} from '../helpers/enforcers.js';
import {eventually} from '../helpers/processes.js';
import {policy, root} from '../helpers/sandboxes.js';
import {listRunningWith, serveAsSubreaper} from '../helpers/subreaper.js';

const IN_SANDBOX = {sandbox: policy([root('read')], {network: 'enabled', cwd: 'file:///'})};

/** Seconds that no other process sleeps, as an argument by which the process is found. */
let seconds = 70_000 + (process.pid % 10_000);

/** Starts a sandboxed process that has a daemon and waits; returns the argument of both. */
async function startWithDaemon(enforcer: string) {
	const {client, command} = await serveAsSubreaper('--sandbox-enforcer', enforcer);
	const argument = `${seconds++}.25`;
	const daemon = `setsid sh -c 'setsid sleep ${argument} > /dev/null 2>&1 & exit' &`;
	await client.sh('p', `${daemon} wait; sleep ${argument}`, IN_SANDBOX);
	await eventually(() => listRunningWith(argument).length === 2);
	return {client, argument, server: command.pid};
}

describeEnforcers(
	'nothing of a sandbox is left',
	enforcer => {
		test.each(['KILL', 'TERM'])('after the signal %s, and the exit is reported', async name => {
			const {client, argument} = await startWithDaemon(enforcer);
			await client.call('process/signal', {processId: 'p', signal: {name}});
			expect(await client.event('p', 'process/exited')).toMatchObject({exitCode: name === 'KILL' ? 137 : 143});
			await eventually(() => listRunningWith(argument).length === 0);
		});

		test('after its wrapper was killed by somebody else', async () => {
			const {client, argument, server} = await startWithDaemon(enforcer);
			const [daemon] = listRunningWith(argument);
			const wrapper = listChildren(server).find(pid => listDescendants(pid).some(below => below.pid === daemon));
			process.kill(wrapper!, 'SIGKILL');
			expect(await client.event('p', 'process/exited')).toMatchObject({exitCode: 137});
			await eventually(() => listRunningWith(argument).length === 0);
		});
	},
	{programs: ['setsid']},
);
