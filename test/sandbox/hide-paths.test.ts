import {mkdirSync, realpathSync, symlinkSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:net';
import {join} from 'node:path';
import {describe, expect, onTestFinished, test} from 'vitest';
import {hidePaths} from '../../src/sandbox/hide-paths.js';
import type {ResolvedPath} from '../../src/sandbox/host.js';
import {accessAt, type Mount} from '../../src/sandbox/plan.js';
import {needsSandbox} from '../helpers/needs.js';
import {at, policy, root} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';

const locate = (path: string): ResolvedPath =>
	path.startsWith('/sys') || path.startsWith('/none')
		? {found: false, path}
		: {found: true, path, kind: path.endsWith('.d') ? 'directory' : 'file', links: []};
const hidden = (mounts: readonly Mount[], paths: readonly string[]) =>
	hidePaths({mounts, network: 'none'}, paths, locate).mounts;

describe('the paths that no plan shows', () => {
	test('are hidden where the plan would show them, in the order of mounting', () => {
		const mounts: Mount[] = [
			{kind: 'read', path: '/'},
			{kind: 'write', path: '/a/b/c'},
		];
		expect(hidden(mounts, ['/key', '/a/token', '/none/x', '/proc/1', '/'])).toEqual([
			mounts[0],
			{kind: 'hidden', path: '/key', fileType: 'file'},
			{kind: 'hidden', path: '/a/token', fileType: 'file'},
			mounts[1],
		]);
		expect(hidden([{kind: 'read', path: '/usr'}], ['/key'])).toEqual([{kind: 'read', path: '/usr'}]);
	});

	test('stay hidden when the policy names them or something below', () => {
		const named: Mount[] = [
			{kind: 'read', path: '/'},
			{kind: 'write', path: '/key'},
			{kind: 'write', path: '/keys.d/x'},
		];
		const mounts = hidden(named, ['/key', '/keys.d']);
		expect(mounts).toHaveLength(3);
		for (const path of ['/key', '/keys.d', '/keys.d/x']) expect(accessAt({mounts, network: 'none'}, path)).toBe('none');
		expect(hidden([{kind: 'write', path: '/key'}], ['/key'])).toEqual([]);
	});
});

describe('a file of the server’s own', needsSandbox(), () => {
	test('can neither be read nor replaced in a sandbox, whatever the policy says', async () => {
		const base = realpathSync(scratchDirectory());
		mkdirSync(join(base, 'a/b'), {recursive: true});
		const [token, link, socket] = [join(base, 'a/b/token'), join(base, 'link'), join(base, 'a/socket')];
		writeFileSync(token, 'secret');
		symlinkSync(token, link);
		const listener = createServer();
		onTestFinished(() => void listener.close());
		await new Promise<void>(resolve => void listener.listen(socket, resolve));
		const client = await TestClient.overMemory(execServer({hiddenPaths: [link, socket]})).initialize();
		const script = `cat ${token}; cat ${link}; cp ${token} ${base}/copy; mv ${token} ${base}/moved; mv ${base}/a ${base}/z; rm -f ${token} ${socket};
			ln ${token} ${base}/hard; ${process.execPath} -e "require('net').connect('${socket}', () => console.log('connected')).on('error', () => {})"`;
		for (const [id, entries, network] of [
			['all', [root('write')], 'restricted'],
			['named', [root('read'), at(base, 'write'), at(token, 'write')], 'enabled'],
		] as const) {
			await client.sh(id, script, {sandbox: policy(entries, {network})});
			const {stdout} = await client.done(id);
			expect(stdout).toBe('');
		}
		const sandbox = {permissions: {type: 'external', network: 'restricted'}, windowsSandboxLevel: 'disabled'};
		await client.sh('external', `cat ${token}`, {sandbox});
		expect((await client.done('external')).stdout).toBe('');
		await client.sh('plain', `cat ${token}`);
		expect((await client.done('plain')).stdout).toBe('secret');
	});
});
