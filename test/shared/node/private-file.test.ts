import {chmodSync, chownSync, mkdirSync, statSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {FileProvider} from '../../../src/environments/config/file-provider.js';
import {Authenticator, type AuthSource} from '../../../src/server/auth/authenticator.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {fileWith, sha256} from '../../helpers/tokens.js';

const SECRET = 'a secret of at least thirty-two bytes';

test.each<[string, string, (path: string) => AuthSource]>([
	['token', SECRET, path => ({kind: 'token-file', path})],
	['secret that tokens are signed with', SECRET, path => ({kind: 'signed', secretPath: path, skewSeconds: 0})],
])(
	'a file with a %s that others can open is refused, and the hint says how to close it',
	(_what, content, sourceOf) => {
		const path = fileWith(content);
		for (const mode of [0o600, 0o400, 0o700]) {
			chmodSync(path, mode);
			expect(new Authenticator(sourceOf(path))).toBeDefined();
		}
		for (const mode of [0o644, 0o640, 0o604, 0o660, 0o602, 0o610]) {
			chmodSync(path, mode);
			const message = `failed to read websocket auth secret ${path}: it is open to others; try chmod 600 ${path}`;
			expect(() => new Authenticator(sourceOf(path))).toThrow(message);
		}
	},
);

test('a file of digests may be read by others, not changed', () => {
	const path = fileWith(`[[tokens]]\nname = "a"\nsha256 = "${sha256('a')}"\n`);
	chmodSync(path, 0o644);
	const authenticator = new Authenticator({kind: 'tokens-file', path});
	for (const mode of [0o664, 0o646, 0o666]) {
		chmodSync(path, mode);
		expect(() => new Authenticator({kind: 'tokens-file', path})).toThrow('it is writable by others');
		expect(() => authenticator.reload()).toThrow(`try chmod go-w ${path}`);
	}
});

test('environments that others could have written are not used', async () => {
	const home = join(scratchDirectory(), 'home');
	mkdirSync(home);
	const provider = new FileProvider(home);
	writeFileSync(provider.path, '[[environments]]\nid = "a"\nprogram = "true"\n');
	for (const mode of [0o600, 0o644]) {
		chmodSync(provider.path, mode);
		expect(await provider.snapshot()).toBeDefined();
	}
	for (const mode of [0o620, 0o602, 0o666]) {
		chmodSync(provider.path, mode);
		await expect(provider.snapshot()).rejects.toMatchObject({code: 'ENVIRONMENT_INVALID'});
		await expect(provider.snapshot()).rejects.toThrow('it is writable by others; try chmod go-w');
	}
});

test('environments in a directory that others can write to are not used', async () => {
	const home = join(scratchDirectory(), 'home');
	mkdirSync(home);
	const provider = new FileProvider(home);
	writeFileSync(provider.path, '[[environments]]\nid = "a"\nprogram = "true"\n', {mode: 0o644});
	for (const mode of [0o700, 0o755, 0o1777]) {
		chmodSync(home, mode);
		expect(await provider.snapshot()).toBeDefined();
	}
	for (const mode of [0o770, 0o775, 0o777]) {
		chmodSync(home, mode);
		await expect(provider.snapshot()).rejects.toThrow(`its directory is writable by others; try chmod go-w ${home}`);
		await expect(provider.remove('a')).rejects.toMatchObject({code: 'ENVIRONMENT_INVALID'});
	}
	const link = join(scratchDirectory(), 'linked');
	mkdirSync(link);
	symlinkSync(provider.path, join(link, 'environments.toml'));
	await expect(new FileProvider(link).snapshot()).rejects.toThrow(`try chmod go-w ${home}`);
});

test.each([
	['a token', 'url = "ws://127.0.0.1:1"\nauth_bearer_token = "secret"'],
	['a password', 'url = "ws://user:secret@127.0.0.1:1"'],
])('environments with %s are not used while others can read them, and an edit closes the file', async (_, entry) => {
	const home = join(scratchDirectory(), 'home');
	mkdirSync(home);
	const provider = new FileProvider(home);
	writeFileSync(provider.path, `[[environments]]\nid = "a"\n${entry}\n`);
	for (const mode of [0o644, 0o640, 0o604]) {
		chmodSync(provider.path, mode);
		const message = `it holds a token, and it is open to others; try chmod 600 ${provider.path}`;
		await expect(provider.snapshot()).rejects.toThrow(message);
	}
	await provider.add({id: 'b', url: 'ws://127.0.0.1:2'}, {isDefault: false});
	expect(statSync(provider.path).mode & 0o777).toBe(0o600);
	expect((await provider.snapshot())!.remotes.size).toBe(2);
});

test('an edit does not take over what others can write, and leaves a file with its owner', async () => {
	const home = join(scratchDirectory(), 'home');
	const provider = new FileProvider(home);
	await provider.add({id: 'a', url: 'ws://127.0.0.1:1'}, {isDefault: false});
	expect([statSync(home), statSync(provider.path)].map(({mode}) => mode & 0o777)).toEqual([0o700, 0o600]);
	chmodSync(provider.path, 0o620);
	const adding = provider.add({id: 'b', url: 'ws://127.0.0.1:2'}, {isDefault: false});
	await expect(adding).rejects.toThrow(`it is writable by others; try chmod go-w ${provider.path}`);
	chmodSync(provider.path, 0o600);
	const owner = process.geteuid!() === 0 ? 65_534 : process.geteuid!();
	chownSync(provider.path, owner, -1);
	await provider.remove('a');
	expect(statSync(provider.path).uid).toBe(owner);
});
