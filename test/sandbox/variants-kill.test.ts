import {expect, test} from 'vitest';
import {listChildren, listDescendants} from '../../src/processes/tree/process-tree.js';
import {describeEnforcers} from '../helpers/enforcers.js';
import {base64} from '../helpers/files.js';
import {joined, OPEN_STDIN} from '../helpers/process-api.js';
import {eventually} from '../helpers/processes.js';
import {policy, root} from '../helpers/sandboxes.js';
import {listRunningWith, noUnprivilegedServer, serveAsSubreaper, serveUnprivileged} from '../helpers/subreaper.js';
import type {TestClient} from '../helpers/test-client.js';
import {UpgradableServer} from '../helpers/upgrades.js';

const IN_SANDBOX = {sandbox: policy([root('read')], {network: 'enabled', cwd: 'file:///'})};

/** Seconds that no other process sleeps, as an argument by which the process is found. */
let seconds = 70_000 + (process.pid % 10_000);

/** A daemon that has left its group, its session and its parent, and has taken off what it can of its marks. */
const daemon = (argument: string) => `
	setsid sh -c 'setsid sh -c "
		prlimit --pid \\$\\$ --rttime=7:7 --locks=7:7; prlimit --pid \\$\\$ --rttime=unlimited:unlimited
		perl -e \\"syscall(157, 1, 0, 0, 0, 0); exec @ARGV\\" sleep ${argument}
	" > /dev/null 2>&1 & exit' &`;

interface Running {
	readonly client: TestClient;
	readonly processId: string;
	/** Pid of the process that started the sandbox. */
	readonly wrapper: number;
}

const signal =
	(name: string) =>
	({client, processId}: Running): Promise<unknown> =>
		client.call('process/signal', {processId, signal: {name}});
const write =
	(text: string) =>
	({client, processId}: Running): Promise<unknown> =>
		client.call('process/write', {processId, chunk: base64(`${text}\n`), writeId: 'w'});
const terminate =
	(more: object) =>
	({client, processId}: Running): Promise<unknown> =>
		client.call('process/terminate', {processId, ...more});

/** Ways in which a process ends, and its code where that is the same for all enforcers. */
const WAYS: readonly {
	readonly name: string;
	readonly exitCode?: number;
	readonly end: (running: Running) => Promise<unknown>;
}[] = [
	{name: 'signal KILL', exitCode: 137, end: signal('KILL')},
	{name: 'signal TERM', exitCode: 143, end: signal('TERM')},
	{name: 'signal INT', end: signal('INT')},
	{name: 'end of the program itself', exitCode: 3, end: write('exit 3')},
	{name: 'death of the program by its own hand', exitCode: 137, end: write('kill -9 $$')},
	{name: 'termination', end: terminate({})},
	{name: 'termination in order', end: terminate({mode: {graceful: {timeoutMs: 200}}})},
	{name: 'death of its wrapper', exitCode: 137, end: async ({wrapper}) => process.kill(wrapper, 'SIGKILL')},
];

describeEnforcers(
	'nothing of a sandbox is left, however it ends',
	enforcer => {
		test.for([
			['this user', serveAsSubreaper, undefined],
			['another user', serveUnprivileged, noUnprivilegedServer()],
		] as const)('as %s', async ([, serve, why], {skip}) => {
			if (why !== undefined) skip(why);
			const {client, command} = await serve('--sandbox-enforcer', enforcer);
			for (const {name: processId, exitCode, end} of WAYS) {
				const argument = `${seconds++}.25`;
				const script = `${daemon(argument)} wait; sleep ${argument} & read line; eval "$line"`;
				await client.sh(processId, script, {...IN_SANDBOX, ...OPEN_STDIN});
				const running = await eventually(() => {
					const found = listRunningWith(argument);
					return found.length === 2 && found;
				});
				const wrapper = listChildren(command.pid).find(pid =>
					listDescendants(pid).some(each => each.pid === running[0]),
				);
				await end({client, processId, wrapper: wrapper!});
				const exited = await client.event(processId, 'process/exited');
				expect([processId, exited['exitCode']]).toEqual([processId, exitCode ?? exited['exitCode']]);
				await eventually(() => listRunningWith(argument).length === 0);
			}
		});

		test('when its server is killed', async () => {
			const {client, command} = await serveAsSubreaper('--sandbox-enforcer', enforcer);
			const argument = `${seconds++}.25`;
			await client.sh('p', `${daemon(argument)} wait; exec sleep ${argument}`, IN_SANDBOX);
			await eventually(() => listRunningWith(argument).length === 2);
			process.kill(command.pid, 'SIGKILL');
			await eventually(() => listRunningWith(argument).length === 0);
			expect(listRunningWith(argument)).toEqual([]);
		});

		test('when its wrapper is killed after an upgrade of the server', async () => {
			const server = new UpgradableServer(['--log-level', 'info', '--sandbox-enforcer', enforcer]);
			const client = await joined(await server.command.url());
			const argument = `${seconds++}.25`;
			await client.sh('p', `${daemon(argument)} wait; exec sleep ${argument}`, IN_SANDBOX);
			const [first] = await eventually(() => {
				const found = listRunningWith(argument);
				return found.length === 2 && found;
			});
			await server.upgrade();
			expect(listRunningWith(argument)).toHaveLength(2);
			const children = listChildren(server.command.pid);
			const wrapper = children.find(pid => listDescendants(pid).some(({pid: below}) => below === first))!;
			process.kill(wrapper, 'SIGKILL');
			await eventually(() => listRunningWith(argument).length === 0);
		});
	},
	{programs: ['setsid', 'prlimit', 'perl']},
);
