import {expect, onTestFinished, test, vi} from 'vitest';
import {printCompletion} from '../../src/cli/commands/completion/completion-command.js';
import {listEnvironments} from '../../src/cli/commands/env/env-list.js';
import {testEnvironments} from '../../src/cli/commands/env/env-test.js';
import {openEnvironment} from '../../src/cli/common/environments.js';
import {VariablesProvider} from '../../src/environments/config/config-variables.js';
import {EnvironmentManager} from '../../src/environments/environment-manager.js';
import {
	combineProviders,
	type EnvironmentProvider,
	type EnvironmentSnapshot,
} from '../../src/environments/environment-provider.js';
import type {RemoteTarget} from '../../src/environments/remote/remote-target.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {serving} from '../helpers/serving.js';

/** A registry of machines as somebody else may write one. */
class Inventory implements EnvironmentProvider {
	readonly machines = new Map<string, RemoteTarget>();
	defaultId: string | undefined;
	includesLocal = false;

	async snapshot(): Promise<EnvironmentSnapshot | undefined> {
		if (this.machines.size === 0) return undefined;
		return {defaultId: this.defaultId, includesLocal: this.includesLocal, remotes: new Map(this.machines)};
	}
}

const NOWHERE: RemoteTarget = {kind: 'command', program: 'false'};

/** What is written to standard output meanwhile. */
function captureOutput(): () => string {
	let text = '';
	const spy = vi.spyOn(process.stdout, 'write').mockImplementation(chunk => {
		text += String(chunk);
		return true;
	});
	onTestFinished(() => spy.mockRestore());
	return () => text;
}

test('a manager knows the environments of any provider', async () => {
	const provider = new Inventory();
	const {url} = await serving();
	provider.machines.set('one', {kind: 'websocket', url}).set('two', NOWHERE);
	provider.defaultId = 'one';
	const manager = await EnvironmentManager.load({provider});
	onTestFinished(() => manager.close());
	expect([manager.ids, manager.local]).toEqual([['one', 'two'], undefined]);
	expect((await manager.default!.run(['/bin/echo', 'here'])).stdout.text).toBe('here\n');
});

test('a snapshot is of its moment: what the provider learns later is for the next manager', async () => {
	const provider = new Inventory();
	provider.machines.set('one', NOWHERE);
	const before = await EnvironmentManager.load({provider});
	provider.machines.set('two', NOWHERE);
	const after = await EnvironmentManager.load({provider});
	expect([before.ids, after.ids]).toEqual([['one'], ['one', 'two']]);
});

test('a provider that is not in use leaves this machine, and the file and the variables are not asked', async () => {
	const variables = {LONGARM_EXEC_SERVER_URL: 'none'};
	const manager = await EnvironmentManager.load({provider: new Inventory(), variables, home: scratchDirectory()});
	expect([manager.ids, manager.default?.id]).toEqual([['local'], 'local']);
});

test('of several providers the first that is in use counts', async () => {
	const [first, second] = [new Inventory(), new Inventory()];
	const both = combineProviders(first, second);
	expect(await both.snapshot()).toBeUndefined();
	second.machines.set('b', NOWHERE);
	expect([...(await both.snapshot())!.remotes.keys()]).toEqual(['b']);
	first.machines.set('a', NOWHERE);
	expect([...(await both.snapshot())!.remotes.keys()]).toEqual(['a']);
});

test('a provider that fails is not passed over', async () => {
	const failing: EnvironmentProvider = {snapshot: () => Promise.reject(new Error('registry unreachable'))};
	await expect(EnvironmentManager.load({provider: combineProviders(failing, new Inventory())})).rejects.toThrow(
		'registry unreachable',
	);
});

test('variables that are not set are not in use', async () => {
	expect(await new VariablesProvider({}).snapshot()).toBeUndefined();
	expect(await new VariablesProvider({CODEX_EXEC_SERVER_URL: ' none '}).snapshot()).toEqual({
		defaultId: undefined,
		includesLocal: false,
		remotes: new Map(),
	});
});

test('the command line finds a machine by the name its provider has for it', async () => {
	const provider = new Inventory();
	const {url} = await serving();
	provider.machines.set('one', {kind: 'websocket', url});
	const environment = await openEnvironment('one', {provider});
	onTestFinished(() => environment.close());
	expect([environment.id, environment.kind]).toEqual(['one', 'remote']);
	expect((await environment.run(['/bin/echo', 'there'])).stdout.text).toBe('there\n');
	await expect(openEnvironment('other', {provider})).rejects.toThrow(
		'unknown environment `other`; known are local, one',
	);
});

test('the commands about environments list, complete and test what the provider has', async () => {
	const provider = new Inventory();
	const {url} = await serving();
	provider.machines.set('one', {kind: 'websocket', url, token: 'hunter2'}).set('two', NOWHERE);
	provider.includesLocal = true;
	provider.defaultId = 'one';
	const output = captureOutput();
	expect(await listEnvironments({json: false, provider})).toBe(0);
	expect(output()).toBe(`  local  this machine\n* one    ${url} (with a token)\n  two    false\n`);
	expect(await printCompletion('names', provider)).toBe(0);
	expect(output()).toMatch(/local\none\ntwo\n$/);
	expect(await testEnvironments([], {json: false, provider})).toBe(1);
	expect(output()).toMatch(/ok {6}local .*\nok {6}one .*\n {15}cannot forward ports\nFAILED {2}two .*\n$/);
	expect(await testEnvironments(['one'], {json: false, provider})).toBe(0);
});
