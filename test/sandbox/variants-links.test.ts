import {existsSync, mkdirSync, realpathSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {expect, test} from 'vitest';
import {describeEnforcers} from '../helpers/enforcers.js';
import {at, type Entry, policy, root, special} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';

interface Scene {
	/** May be written to. */
	readonly work: string;
	/** May not; holds `key`. */
	readonly outside: string;
}

interface Swap {
	readonly name: string;
	readonly entries: (scene: Scene) => readonly Entry[];
	/** Done before by somebody else. */
	readonly prepare?: (scene: Scene) => void;
	/** Run by the first process. */
	readonly swap: (scene: Scene) => string;
	/** Run by the second one, under the same policy. */
	readonly use: (scene: Scene) => string;
	readonly members?: (scene: Scene) => Record<string, unknown>;
	/** Variables of both processes. */
	readonly env?: (scene: Scene) => Record<string, string>;
}

const writeOutside = ({outside}: Scene) => `echo x > ${outside}/new`;
const readKey = ({outside}: Scene) => `cat ${outside}/key`;
const replaceByLink = ({work, outside}: Scene) => `mv ${work}/in ${work}/old; ln -s ${outside} ${work}/in`;

const SWAPS: readonly Swap[] = [
	{
		name: 'a writable root within another one',
		entries: ({work}) => [root('read'), at(work, 'write'), at(join(work, 'in'), 'write')],
		swap: replaceByLink,
		use: writeOutside,
	},
	{
		name: 'a directory above a writable root within another one',
		entries: ({work}) => [root('read'), at(work, 'write'), at(join(work, 'in/deep'), 'write')],
		prepare: ({outside}) => mkdirSync(join(outside, 'deep')),
		swap: replaceByLink,
		use: ({outside}) => `echo x > ${outside}/deep/new`,
	},
	{
		name: 'a writable root that does not exist yet',
		entries: ({work}) => [root('read'), at(work, 'write'), at(join(work, 'late'), 'write')],
		swap: ({work, outside}) => `ln -s ${outside} ${work}/late`,
		use: writeOutside,
	},
	{
		name: 'a workspace root within another one',
		entries: () => [root('read'), special({kind: 'project_roots'}, 'write')],
		swap: replaceByLink,
		use: writeOutside,
		members: ({work}) => ({workspaceRoots: [work, join(work, 'in')].map(path => pathToFileURL(path).href)}),
	},
	{
		name: 'the directory for temporary files',
		entries: ({work}) => [root('read'), at(work, 'write'), special({kind: 'tmpdir'}, 'write')],
		swap: replaceByLink,
		use: writeOutside,
		env: ({work}) => ({TMPDIR: join(work, 'in')}),
	},
	{
		name: 'a readable root',
		entries: ({work}) => [special({kind: 'minimal'}, 'read'), at(work, 'write'), at(join(work, 'in'), 'read')],
		prepare: ({work, outside}) => symlinkSync(outside, join(work, 'in/link')),
		swap: replaceByLink,
		use: readKey,
	},
	{
		name: 'a link to something hidden',
		entries: ({work}) => [root('read'), at(work, 'write'), at(join(work, 'link'), 'deny')],
		prepare: ({work, outside}) => symlinkSync(join(outside, 'key'), join(work, 'link')),
		swap: ({work}) => `rm ${work}/link; echo x > ${work}/link`,
		use: readKey,
	},
];

// Landlock alone refuses these policies, since they protect something below what may be written to.
describeEnforcers(
	'a link that a sandboxed process puts in the place of',
	sandboxEnforcer => {
		test.for(SWAPS)('$name opens nothing to the next process', async ({entries, prepare, swap, use, members, env}) => {
			const base = realpathSync(scratchDirectory());
			const scene = {work: join(base, 'work'), outside: join(base, 'outside')};
			mkdirSync(join(scene.work, 'in/deep'), {recursive: true});
			mkdirSync(scene.outside);
			writeFileSync(join(scene.outside, 'key'), 'secret');
			prepare?.(scene);
			const sandbox = policy(entries(scene), members?.(scene));
			const client = await TestClient.overMemory(execServer({sandboxEnforcer})).initialize();
			const run = async (id: string, script: string): Promise<string> => {
				try {
					await client.sh(id, script, {sandbox, env: {PATH: process.env['PATH'], ...env?.(scene)}});
				} catch (error) {
					return (error as Error).message;
				}
				return (await client.done(id)).stdout;
			};
			await run('first', swap(scene));
			expect(await run('second', use(scene))).toMatch(/^$|is a symbolic link in a writable directory/);
			expect(existsSync(join(scene.outside, 'new'))).toBe(false);
			expect(existsSync(join(scene.outside, 'deep/new'))).toBe(false);
		});

		test('a path that is granted all the same does no harm', async () => {
			const work = realpathSync(scratchDirectory());
			mkdirSync(join(work, 'in'));
			symlinkSync('in', join(work, 'link'));
			const client = await TestClient.overMemory(execServer({sandboxEnforcer})).initialize();
			const sandbox = policy([root('read'), at(work, 'write'), at(join(work, 'link'), 'write')]);
			await client.sh('p', `echo x > ${work}/link/new`, {sandbox});
			expect(await client.done('p')).toMatchObject({exitCode: 0});
		});
	},
	{only: ['bubblewrap', 'namespaces']},
);
