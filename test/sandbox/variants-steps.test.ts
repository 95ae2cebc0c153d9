import {existsSync, mkdirSync, readdirSync, realpathSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {beforeAll, expect, test} from 'vitest';
import {describeEnforcers} from '../helpers/enforcers.js';
import {base64, uri} from '../helpers/files.js';
import {ownCommand} from '../helpers/own-command.js';
import {at, type Entry, policy, root, special, workspacePolicy} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';

let command: readonly string[];
beforeAll(async () => {
	const built = await ownCommand();
	command = built.command;
	return built.remove;
});

interface Scene {
	/** Workspace of the first process. */
	readonly app: string;
	/** Never named by a policy; holds `key`. */
	readonly outside: string;
}

function prepareScene(): Scene {
	const base = realpathSync(scratchDirectory());
	const scene = {app: join(base, 'app'), outside: join(base, 'outside')};
	mkdirSync(join(scene.app, 'sub/deep'), {recursive: true});
	mkdirSync(join(scene.outside, 'deep'), {recursive: true});
	writeFileSync(join(scene.outside, 'key'), 'secret');
	return scene;
}

interface Step {
	readonly policy: object;
	readonly env?: Record<string, string>;
	/** The working directory of the process. */
	readonly cwd?: string;
}

/** Policies of the second process, which all lead through `app/sub`. */
const SECOND_STEPS: readonly [name: string, step: (scene: Scene) => Step][] = [
	['its working directory', ({app}) => ({policy: workspacePolicy(join(app, 'sub'))})],
	['a directory above its working directory', ({app}) => ({policy: workspacePolicy(join(app, 'sub/deep'))})],
	['its working directory with slashes', ({app}) => ({policy: workspacePolicy(`${app}//sub/`)})],
	[
		'its working directory, which the policy does not name',
		({app}) => ({
			policy: policy([root('read'), special({kind: 'project_roots'}, 'write')]),
			cwd: join(app, 'sub'),
		}),
	],
	['a directory that it may write', ({app}) => ({policy: policy([root('read'), at(join(app, 'sub'), 'write')])})],
	['a file that it may write', ({app}) => ({policy: policy([root('read'), at(join(app, 'sub/key'), 'write')])})],
	[
		'its directory for temporary files',
		({app}) => ({
			policy: policy([root('read'), special({kind: 'tmpdir'}, 'write')]),
			env: {TMPDIR: join(app, 'sub')},
		}),
	],
	[
		'a directory that it may read',
		({app}) => ({
			policy: policy([special({kind: 'minimal'}, 'read'), at(join(app, 'sub'), 'read')]),
		}),
	],
];

const run = async (client: TestClient, id: string, script: string, step: Step): Promise<string> => {
	const {PATH = ''} = process.env;
	await client.sh(id, script, {
		sandbox: step.policy,
		env: {PATH, ...step.env},
		...(step.cwd && {cwd: uri(step.cwd)}),
	});
	const {stdout, exitCode} = await client.done(id);
	return `${stdout}${exitCode}`;
};

const plant = async (client: TestClient, {app, outside}: Scene) => {
	const script = `cd ${app} && mv sub old && ln -s ${outside} sub`;
	expect(await run(client, 'first', script, {policy: workspacePolicy(app)})).toBe('0');
};

describeEnforcers('a link that a sandboxed process puts in its workspace', sandboxEnforcer => {
	const serve = () => TestClient.overMemory(execServer({ownCommand: command, sandboxEnforcer})).initialize();
	test.for(SECOND_STEPS)('opens nothing to the next one: %s', async ([, step]) => {
		const scene = prepareScene();
		const client = await serve();
		// Without the link the same policy is enforced.
		expect(await run(client, 'before', 'true', step(scene))).toBe('0');
		await plant(client, scene);
		const script = `cat ${scene.outside}/key; echo x > ${scene.outside}/key; echo x > ${scene.outside}/new`;
		await expect(run(client, 'second', script, step(scene))).rejects.toThrow(
			/`.*\/sub` is a symbolic link that an earlier sandboxed process may have made; name `.*\/outside/,
		);
		expect(readdirSync(scene.outside).sort()).toEqual(['deep', 'key']);
	});

	test('opens nothing to file operations, and one that these were allowed to make opens nothing to a process', async () => {
		const scene = prepareScene();
		const client = await serve();
		const write = (directory: string) =>
			client.call('fs/writeFile', {
				path: uri(directory, 'new'),
				dataBase64: base64('x'),
				sandbox: workspacePolicy(directory),
			});
		expect(await write(join(scene.app, 'sub'))).toEqual({});
		await plant(client, scene);
		await expect(write(join(scene.app, 'sub'))).rejects.toThrow(/may have made/);
		expect(existsSync(join(scene.outside, 'new'))).toBe(false);
		const other = prepareScene();
		await client.call('fs/getMetadata', {path: uri(other.app), sandbox: workspacePolicy(other.app)});
		symlinkSync(other.outside, join(other.app, 'link'));
		await expect(run(client, 'p', 'true', {policy: workspacePolicy(join(other.app, 'link'))})).rejects.toThrow(
			/may have made/,
		);
	});

	test('may be followed to where that process could write anyway', async () => {
		const {app} = prepareScene();
		const client = await serve();
		const script = `cd ${app} && mkdir releases && mv sub releases/1 && ln -s releases/1 sub`;
		expect(await run(client, 'first', script, {policy: workspacePolicy(app)})).toBe('0');
		const step = {policy: workspacePolicy(join(app, 'sub'))};
		expect(await run(client, 'second', `echo x > ${app}/sub/new`, step)).toBe('0');
		expect(existsSync(join(app, 'releases/1/new'))).toBe(true);
	});

	test('is told from one that only somebody else could make', async () => {
		const {app, outside} = prepareScene();
		symlinkSync(outside, `${app}-link`);
		const client = await serve();
		expect(await run(client, 'first', 'true', {policy: workspacePolicy(app)})).toBe('0');
		const step = {policy: workspacePolicy(`${app}-link`)};
		expect(await run(client, 'second', `echo x > ${app}-link/new`, step)).toBe('0');
		expect(existsSync(join(outside, 'new'))).toBe(true);
	});

	test.each<[string, (pid: number) => Entry]>([
		['working directory', pid => at(`/proc/${pid}/cwd`, 'write')],
		['root', pid => at(`/proc/${pid}/root/etc`, 'write')],
		['open file', pid => at(`/proc/${pid}/fd/0`, 'write')],
	])('is not the only one: the %s of a process is no path of a policy', async (_name, entry) => {
		const client = await serve();
		const sandbox = policy([root('read'), entry(process.pid)]);
		await expect(run(client, 'p', 'true', {policy: sandbox})).rejects.toThrow(/leads to where a process decides/);
	});
});
