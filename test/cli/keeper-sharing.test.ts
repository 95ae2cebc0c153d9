// covers: src/server/keeper, src/server/handlers/durable-start.ts
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {isHalted} from '../../src/processes/tree/process-tree.js';
import {Command} from '../helpers/command.js';
import {
	attachTo,
	crash,
	DURABLE,
	findKeeper,
	listAll,
	listOne,
	serveState,
	stateDirectory,
	untilNoKeeper,
} from '../helpers/keepers.js';
import {needs, needsSandbox} from '../helpers/needs.js';
import {joined, OPEN_STDIN, refusal, toldPids} from '../helpers/process-api.js';
import {eventually, untilDead} from '../helpers/processes.js';
import {policy, root} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {FAMILY, FAMILY_SIZE, findWatchdog} from '../helpers/subreaper.js';
import {clientWith, sha256} from '../helpers/tokens.js';
import {UpgradableServer} from '../helpers/upgrades.js';

interface LogPage {
	readonly chunks: readonly {readonly chunk: string}[];
	readonly atEnd: boolean;
}

test('a sandbox holds over a crash, and shows nothing of the state directory', needsSandbox(), async () => {
	const state = stateDirectory();
	const first = await serveState(state);
	const outside = join(scratchDirectory(), 'file');
	const script = `echo begun; read -r line; (echo x > ${outside}) 2> /dev/null || echo denied; ls ${state} 2>&1 | wc -l; exit 4`;
	const started = await first.client.sh('kept', script, {...DURABLE, ...OPEN_STDIN, sandbox: policy([root('read')])});
	expect(started).toMatchObject({sandboxType: 'linuxSeccomp'});
	await first.client.shows('kept', 'begun');
	await crash(first);
	const second = await serveState(state);
	await attachTo(second.client, 'kept', 'drive');
	await second.client.write('kept', '\n', '1');
	const {stdout, exitCode} = await second.client.done('kept');
	expect([exitCode, stdout]).toEqual([4, expect.stringMatching(/^begun\ndenied\n[01]\n$/)]);
});

test('a tree is ended in the keeper, wherever its members went', needs('setsid'), async () => {
	const state = stateDirectory();
	const {client} = await serveState(state);
	await client.sh('kept', FAMILY, DURABLE);
	const pids = await toldPids(client, 'kept', FAMILY_SIZE);
	expect(await client.call('process/terminate', {processId: 'kept'})).toEqual({running: true});
	await untilDead(...pids);
	expect(await client.event('kept', 'process/exited')).toMatchObject({exitCode: 137, reason: 'terminated'});
});

test('owners and roles hold over a crash', async () => {
	const state = stateDirectory();
	const tokens = join(scratchDirectory(), 'tokens.toml');
	const [ann, bob] = ['a'.repeat(40), 'b'.repeat(40)];
	const entries = [`name = "ann"\nsha256 = "${sha256(ann)}"`, `name = "bob"\nsha256 = "${sha256(bob)}"`];
	writeFileSync(tokens, entries.map(entry => `[[tokens]]\n${entry}\n`).join(''), {mode: 0o600});
	const settings = ['--ws-auth', 'capability-token', '--ws-tokens-file', tokens];
	const serve = async (): Promise<{command: Command; url: string}> => {
		const command = new Command(['serve', '--log-level', 'silent', '--state', state, ...settings]);
		return {command, url: await command.url()};
	};
	const first = await serve();
	const owner = await clientWith(first.url, ann);
	await owner.sh('secret', 'echo $$; exec sleep 1000', DURABLE);
	await owner.sh('shown', 'exec sleep 1000', {...DURABLE, share: {observe: 'any'}});
	const [pid] = await toldPids(owner, 'secret', 1);
	first.command.child.kill('SIGKILL');
	await first.command.ended;
	const second = await serve();
	const [again, other] = [await clientWith(second.url, ann), await clientWith(second.url, bob)];
	expect((await listAll(again)).map(({processId, owner: name}) => `${processId} of ${name}`).sort()).toEqual([
		'secret of ann',
		'shown of ann',
	]);
	expect((await listAll(other)).map(({processId}) => processId)).toEqual(['shown']);
	expect(await refusal(attachTo(other, 'shown', 'drive'))).toMatchObject({data: {code: 'NOT_DRIVER'}});
	await attachTo(again, 'secret', 'drive');
	await again.call('process/terminate', {processId: 'secret'});
	await untilDead(pid!);
});

test('logs, observers and removal work as for any other process', async () => {
	const state = stateDirectory();
	const {client, url} = await serveState(state);
	await client.sh('kept', 'seq 1 20000; read -r line; echo end', {...DURABLE, ...OPEN_STDIN});
	const observer = await joined(url);
	await attachTo(observer, 'kept');
	await observer.shows('kept', '\n20000\n');
	expect(await refusal(observer.write('kept', '\n', '1'))).toMatchObject({data: {code: 'NOT_DRIVER'}});
	expect(await refusal(client.call('process/remove', {processId: 'kept'}))).toMatchObject({
		data: {code: 'PROCESS_RUNNING'},
	});
	await client.write('kept', '\n', '1');
	expect(await observer.done('kept')).toEqual(await client.done('kept'));
	const {chunks} = await client.call<LogPage>('process/logs', {processId: 'kept', from: {tail: 2}});
	expect(Buffer.concat(chunks.map(({chunk}) => Buffer.from(chunk, 'base64'))).toString()).toBe('20000\nend\n');
	await client.call('process/remove', {processId: 'kept'});
	expect(await listOne(client, 'kept')).toBeUndefined();
});

test('processes of a keeper that does not answer are listed, which is logged, and go on when it does', async () => {
	const state = stateDirectory();
	const first = await serveState(state);
	await first.client.sh('kept', 'echo $$; read -r line; echo "got $line"', {...DURABLE, ...OPEN_STDIN});
	const [pid] = await toldPids(first.client, 'kept', 1);
	const keeper = findKeeper(state);
	process.kill(keeper.pid, 'SIGSTOP');
	await eventually(() => isHalted(keeper.pid));
	await crash(first);
	const command = new Command(['serve', '--log-level', 'warn', '--state', state]);
	await command.logs('a keeper of an earlier server does not answer');
	const client = await joined(await command.url());
	expect(await listOne(client, 'kept')).toMatchObject({state: 'running', pid, durable: true});
	await attachTo(client, 'kept', 'drive');
	await client.shows('kept', `${pid}\n`);
	const written = client.write('kept', 'late\n', '1');
	process.kill(keeper.pid, 'SIGCONT');
	await written;
	expect(await client.done('kept')).toMatchObject({exitCode: 0, stdout: `${pid}\ngot late\n`});
	await untilNoKeeper(state);
});

test('a server without a place for it says so, and refuses', async () => {
	const {client} = await serveState(stateDirectory());
	const info = await client.call<{capabilities: Record<string, boolean>}>('environment/info');
	expect(info.capabilities['processDurable']).toBe(true);
	const far = join(stateDirectory(), 'x'.repeat(90));
	const {client: other} = await serveState(far);
	expect(await refusal(other.sh('p', 'true', DURABLE))).toMatchObject({
		message: expect.stringMatching(
			/^durable processes are not possible: the path .* is too long for a socket$/,
		) as string,
	});
});

test('an upgrade in place keeps durable processes, and spares their keeper afterwards', async () => {
	const state = stateDirectory();
	const server = new UpgradableServer(['--state', state]);
	const url = await server.command.url();
	const first = await joined(url);
	await first.sh('kept', 'echo $$; read -r line; echo "got $line"; exit 9', {...DURABLE, ...OPEN_STDIN});
	const [pid] = await toldPids(first, 'kept', 1);
	const keeper = findKeeper(state);
	await server.upgrade();
	const second = await joined(url);
	expect(await listOne(second, 'kept')).toMatchObject({state: 'running', pid, generation: keeper.generation});
	const watchdog = await findWatchdog(server.command.pid);
	server.command.child.kill('SIGKILL');
	await server.command.ended;
	await untilDead(watchdog);
	const third = await serveState(state);
	await attachTo(third.client, 'kept', 'drive');
	await third.client.write('kept', 'all\n', '1');
	expect(await third.client.done('kept')).toMatchObject({exitCode: 9, stdout: `${pid}\ngot all\n`});
});
