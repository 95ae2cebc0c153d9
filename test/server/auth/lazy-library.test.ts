import {expect, test, vi} from 'vitest';
import {Authenticator} from '../../../src/server/auth/authenticator.js';
import {fileWith, jwt, nowSeconds} from '../../helpers/tokens.js';

const loads = vi.hoisted(() => ({count: 0}));
vi.mock('jose/jws/compact/verify', async importOriginal => {
	loads.count++;
	return importOriginal();
});

test('the library for signed tokens is loaded when the first one comes, and never without', async () => {
	const capability = new Authenticator({kind: 'token-file', path: fileWith('token')});
	await capability.authenticate('Bearer token');
	await capability.authenticate('Bearer a.b.c');
	const secret = 'x'.repeat(32);
	const signed = new Authenticator({kind: 'signed', secretPath: fileWith(secret), skewSeconds: 0});
	await signed.authenticate(undefined);
	await signed.authenticate('Basic a');
	expect(loads.count).toBe(0);
	const verdict = await signed.authenticate(`Bearer ${jwt(secret, {exp: nowSeconds() + 60})}`);
	expect([verdict.kind, loads.count]).toEqual(['pass', 1]);
});
