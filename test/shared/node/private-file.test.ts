import {chmodSync, mkdirSync, writeFileSync} from 'node:fs';
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
