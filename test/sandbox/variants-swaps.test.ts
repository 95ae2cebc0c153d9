import {existsSync, mkdirSync, realpathSync, renameSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {selectBackend} from '../../src/processes/backends/select-backend.js';
import {sandboxContext} from '../../src/protocol/methods/sandbox-params.js';
import {decode} from '../../src/protocol/wire/decode.js';
import {Sandbox} from '../../src/sandbox/sandbox.js';
import {Deferred} from '../../src/shared/async/deferred.js';
import {describeEnforcers, notWithLandlock, REFUSES_PROTECTION} from '../helpers/enforcers.js';
import {at, type Entry, policy, root, special} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';

const NO_MOUNTS = 'Landlock alone mounts nothing';

interface Scene {
	readonly work: string;
	readonly outside: string;
}

function prepareScene(): Scene {
	const base = realpathSync(scratchDirectory());
	const scene = {work: join(base, 'work'), outside: join(base, 'outside')};
	for (const directory of Object.values(scene)) mkdirSync(join(directory, 'in/deep'), {recursive: true});
	writeFileSync(join(scene.outside, 'in/key'), 'secret');
	return scene;
}

function replaceByLink(path: string, target: string): void {
	renameSync(path, `${path}-old`);
	symlinkSync(target, path);
}

describeEnforcers('a link that is put in a path after its policy was resolved', sandboxEnforcer => {
	/** Starts a process whose plan was made before `swap`; settles with its output and code, or the error of the start. */
	const run = async (entries: readonly Entry[], script: string, swap: () => void): Promise<string> => {
		const sandbox = new Sandbox(process.env, () => [], sandboxEnforcer);
		const plan = (await sandbox.resolve(decode(sandboxContext, policy(entries))))!;
		swap();
		const environment = new Map([['PATH', process.env['PATH'] ?? '']]);
		const command = {program: '/bin/sh', args: ['-c', script], arg0: undefined, cwd: '/', terminal: false, environment};
		const ended = new Deferred<string>();
		let output = '';
		try {
			const {file, argv, ...wrapper} = sandbox.wrap(plan, command);
			await selectBackend().spawn(
				{file, argv, wrapper, cwd: Buffer.from('/'), environment: new Map(), io: {kind: 'pipes', stdin: false}},
				{
					output: (stream, bytes) => void (stream === 'stdout' && (output += Buffer.from(bytes).toString())),
					streamEnded: () => {},
					exited: ({exitCode}) => setImmediate(() => ended.resolve(`${output}${exitCode}`)),
				},
			);
		} catch (error) {
			return (error as Error).message;
		}
		return ended.promise;
	};

	test.each<[string, (scene: Scene) => void]>([
		['itself', ({work, outside}) => replaceByLink(join(work, 'in'), join(outside, 'in'))],
		['a directory above it', ({work, outside}) => replaceByLink(work, outside)],
	])('opens nothing that could be written: %s', async (_name, swap) => {
		const scene = prepareScene();
		const entries = [root('read'), at(join(scene.work, 'in'), 'write')];
		const script = `echo x > ${scene.work}/in/new; echo x > ${scene.outside}/in/new; echo done`;
		expect(await run(entries, `echo x > ${scene.work}/in/before && echo done`, () => {})).toBe('done\n0');
		expect(await run(entries, script, () => swap(scene))).not.toMatch(/done/);
		expect(existsSync(join(scene.outside, 'in/new'))).toBe(false);
	});

	test('opens nothing that could be read', async () => {
		const scene = prepareScene();
		const entries = [special({kind: 'minimal'}, 'read'), at(join(scene.work, 'in'), 'read')];
		const swap = () => replaceByLink(scene.work, scene.outside);
		expect(await run(entries, `cat ${scene.work}/in/key ${scene.outside}/in/key`, swap)).not.toContain('secret');
	});

	test('takes no protection away', notWithLandlock(sandboxEnforcer, REFUSES_PROTECTION), async () => {
		const scene = prepareScene();
		const entries = [root('read'), at(scene.work, 'write'), at(join(scene.work, 'in/deep'), 'read')];
		const swap = () => replaceByLink(join(scene.work, 'in'), join(scene.outside, 'in'));
		expect(await run(entries, `echo x > ${scene.work}/in-old/deep/new; echo done`, swap)).not.toMatch(/done/);
		expect(existsSync(join(scene.work, 'in-old/deep/new'))).toBe(false);
	});

	test('is told by no descriptor of the host', notWithLandlock(sandboxEnforcer, NO_MOUNTS), async () => {
		const scene = prepareScene();
		const entries = [root('read'), at(scene.work, 'write'), at(join(scene.work, 'in/deep'), 'read')];
		const script = `for pid in self 1; do ls -l /proc/$pid/fd | grep -c ${scene.work}; done`;
		expect(await run(entries, script, () => {})).toBe('0\n0\n1');
	});
});
