import {chmodSync, mkdirSync, realpathSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {describe, expect, test} from 'vitest';
import {describeEnforcers, notWithLandlock, REFUSES_PROTECTION} from '../helpers/enforcers.js';
import {isRoot, unless} from '../helpers/needs.js';
import {at, type Entry, glob, noSandbox, policy, root, special} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';

const NOT_UTF8 = Buffer.from([0xff, 0x41]);
const PLATFORM = special({kind: 'minimal'}, 'read');

/** A directory with a secret that every user may read. */
function prepare(): string {
	const base = realpathSync(scratchDirectory());
	writeFileSync(join(base, 'secret.key'), 'secret');
	mkdirSync(join(base, 'a/b'), {recursive: true});
	writeFileSync(join(base, 'a/b/deep.key'), 'secret');
	return base;
}

function inBytes(...parts: (string | Buffer)[]): Buffer {
	return Buffer.concat(parts.map(part => Buffer.from(part as string)));
}

describeEnforcers('what a policy denies cannot be read', sandboxEnforcer => {
	const run = async (entries: readonly Entry[], script: string, base: string): Promise<string> => {
		const client = await TestClient.overMemory(execServer({sandboxEnforcer})).initialize();
		await client.sh('p', script, {sandbox: policy(entries), cwd: pathToFileURL(base).href});
		const {stdout} = await client.done('p');
		return stdout.trim();
	};

	test.each([
		'*.key',
		'/*.key',
		'./*.key',
		'*.key/',
		'//*.key//',
		'{secret,other}.key/',
		'{secret.key/,other}',
		's*/./',
		'?ecret.key',
		'../*/*.key',
	])('with the pattern %s', async pattern => {
		const base = prepare();
		expect(await run([root('read')], 'cat secret.key', base)).toBe('secret');
		expect(await run([root('read'), glob(`${base}/${pattern}`, 'deny')], 'cat secret.key', base)).toBe('');
	});

	test.each(['**/*.key', '*//b/*.key', '*/./b/*.key', 'a/*//*.key'])(
		'below other directories with %s',
		async pattern => {
			const base = prepare();
			expect(await run([root('read'), glob(`${base}/${pattern}`, 'deny')], 'cat a/b/deep.key', base)).toBe('');
		},
	);

	test('however deep it is', async () => {
		const base = prepare();
		const deep = join(base, 'd/'.repeat(40));
		mkdirSync(deep, {recursive: true});
		writeFileSync(join(deep, 'x.key'), 'secret');
		expect(await run([root('read'), glob(`${base}/**/x.key`, 'deny')], `cat ${deep}/x.key`, base)).toBe('');
	});

	test.each<[string, Entry[], string]>([
		['a device, with the files of the machine', [root('read'), at('/dev/urandom', 'deny')], 'head -c 1 /dev/urandom'],
		['a device, without them', [PLATFORM, at('/dev/urandom', 'deny')], 'head -c 1 /dev/urandom'],
		['all devices, without the files of the machine', [PLATFORM, at('/dev', 'deny')], 'head -c 1 /dev/urandom'],
	])('if it is %s', async (_name, entries, script) => {
		const base = prepare();
		const shown = entries.filter(({access}) => access !== 'deny');
		const count = `${script} | wc -c`;
		expect(await run([...shown, at(base, 'read')], count, base)).toBe('1');
		expect(await run([...entries, at(base, 'read')], count, base)).toBe('0');
	});

	test('if it is /proc', notWithLandlock(sandboxEnforcer, REFUSES_PROTECTION), async () => {
		const base = prepare();
		for (const shown of [root('read'), PLATFORM]) {
			expect(await run([shown, at(base, 'read')], 'test -e /proc/self/status && echo there', base)).toBe('there');
			const entries = [shown, at(base, 'read'), at('/proc', 'deny')];
			expect(await run(entries, 'test -e /proc/self/status && echo there', base)).toBe('');
		}
	});

	test('and its neighbours stay as they are', async () => {
		const base = prepare();
		const all = root(sandboxEnforcer === 'landlock' ? 'read' : 'write');
		const script =
			'echo x > /dev/null && head -c 1 /dev/zero | wc -c && head -qc 1 /dev/vda /dev/sda /dev/mem /dev/kmsg';
		expect(await run([all, at(base, 'write'), at('/dev/urandom', 'deny')], script, base)).toBe('1');
	});
});

const start = async (sandbox: object): Promise<unknown> => {
	const client = await TestClient.overMemory(execServer()).initialize();
	return client.sh('p', 'true', {sandbox});
};

describe('a part of a policy that cannot be enforced is refused', unless(noSandbox()), () => {
	test('a match whose name is not UTF-8', async () => {
		const base = prepare();
		writeFileSync(inBytes(base, '/', NOT_UTF8, '.key'), 'secret');
		await expect(start(policy([root('read'), glob(`${base}/*.key`, 'deny')]))).rejects.toThrow(/is not UTF-8/);
		await expect(start(policy([root('read'), glob(`${base}/*.other`, 'deny')]))).resolves.toBeDefined();
	});

	test('a match below a directory whose name is not UTF-8', async () => {
		const base = prepare();
		mkdirSync(inBytes(base, '/', NOT_UTF8));
		await expect(start(policy([root('read'), glob(`${base}/**/x.key`, 'deny')]))).resolves.toBeDefined();
		writeFileSync(inBytes(base, '/', NOT_UTF8, '/x.key'), 'secret');
		await expect(start(policy([root('read'), glob(`${base}/**/x.key`, 'deny')]))).rejects.toThrow(/is not UTF-8/);
	});

	test('a path behind a link whose target is not UTF-8', async () => {
		const base = prepare();
		const target = inBytes(base, '/', NOT_UTF8);
		writeFileSync(target, 'secret');
		symlinkSync(target, join(base, 'link'));
		for (const access of ['deny', 'read', 'write']) {
			await expect(start(policy([root('read'), at(join(base, 'link'), access)]))).rejects.toThrow(/is not UTF-8/);
		}
		await expect(start(policy([root('read'), glob(`${base}/li*`, 'deny')]))).rejects.toThrow(/is not UTF-8/);
	});

	test('a pattern that leads up behind a wildcard', async () => {
		for (const pattern of ['/srv/*/../x', '/srv/*/..', '/srv/{a,..}/x*', '/srv/*/{..,a}/x']) {
			await expect(start(policy([root('read'), glob(pattern, 'deny')]))).rejects.toThrow(/leads up/);
		}
	});

	test('a path that is too long to be examined', async () => {
		const long = `/${'x/'.repeat(3000)}`;
		const base = prepare();
		await expect(start(policy([root('read'), at(join(base, long), 'deny')]))).resolves.toBeDefined();
		await expect(start(policy([root('read'), at(join(base, 'x'.repeat(300)), 'deny')]))).rejects.toThrow(
			/cannot be examined \(ENAMETOOLONG\)/,
		);
	});

	test('a directory that can be entered, but not listed', unless(isRoot ? 'root lists all' : undefined), async () => {
		const base = prepare();
		chmodSync(join(base, 'a'), 0o300);
		await expect(start(policy([root('read'), glob(`${base}/**/*.key`, 'deny')]))).rejects.toThrow(/cannot be listed/);
		chmodSync(join(base, 'a'), 0o700);
	});

	test.each(['/dev/ptmx', '/proc/cpuinfo'])('%s alone', async path => {
		await expect(start(policy([root('read'), at(path, 'deny')]))).rejects.toThrow(/cannot hide|cannot be enforced/);
	});
});

describe('a member that no policy has is refused', () => {
	const known = policy([root('read')]);
	const entry = at('/srv', 'deny');
	const files = (more: object) => ({
		...known,
		permissions: {...known.permissions, file_system: {...known.permissions.file_system, ...more}},
	});

	test.each<[string, object, string]>([
		['of the policy', {...known, denied_paths: []}, 'denied_paths'],
		['of its permissions', {...known, permissions: {...known.permissions, file_sytem: {}}}, 'permissions.file_sytem'],
		['of its files', files({deny: []}), 'permissions.file_system.deny'],
		['of an entry', policy([{...entry, acess: 'read'}]), 'permissions.file_system.entries.0.acess'],
		[
			'of a path',
			policy([{path: {...(entry['path'] as object), recursive: false}, access: 'deny'}]),
			'permissions.file_system.entries.0.path.recursive',
		],
		[
			'of a special path',
			policy([special({kind: 'root', subpath: 'x'}, 'deny')]),
			'permissions.file_system.entries.0.path.value.subpath',
		],
		[
			'of a profile without restrictions',
			{...known, permissions: {type: 'disabled', network: 'restricted'}},
			'permissions.network',
		],
		['of its context', {...known, policyContext: {cwd: 'file:///', roots: []}}, 'policyContext.roots'],
	])('%s', async (_name, sandbox, field) => {
		const client = await TestClient.overMemory(execServer()).initialize();
		const refusal = {code: -32602, message: `unknown field \`sandbox.${field}\``};
		await expect(client.sh('p', 'true', {sandbox})).rejects.toMatchObject(refusal);
		await expect(client.call('fs/readFile', {path: 'file:///etc/passwd', sandbox})).rejects.toMatchObject(refusal);
	});

	test('and those that upstream codex sends are not', async () => {
		const sandbox = {
			permissions: {type: 'disabled'},
			windowsSandboxLevel: 'disabled',
			cwd: 'file:///srv',
			workspaceRoots: ['file:///srv'],
			userHomeDir: 'file:///root',
			temporaryDirectories: ['file:///tmp'],
			sandboxOverride: 'noOverride',
			policyContext: {cwd: 'file:///srv', workspaceRoots: ['file:///srv']},
			windowsSandboxPrivateDesktop: false,
			windowsSandboxProxySettingsMode: 'reconcile',
			useLegacyLandlock: false,
		};
		const client = await TestClient.overMemory(execServer()).initialize();
		await expect(client.sh('p', 'true', {sandbox})).resolves.toBeDefined();
	});
});
