// covers: src/server/sharing/share-tokens.ts, src/server/auth/authenticator.ts
import {writeFileSync} from 'node:fs';
import {expect, test} from 'vitest';
import type {ManagedProcess} from '../../../src/processes/managed-process.js';
import {Authenticator} from '../../../src/server/auth/authenticator.js';
import type {Grant} from '../../../src/server/auth/grant.js';
import {ShareTokens} from '../../../src/server/sharing/share-tokens.js';
import {fileWith, jwt} from '../../helpers/tokens.js';

const SECRET = 'a secret of at least 32 bytes, for tests';
const HOUR_MS = 60 * 60_000;
const process = {id: 'p'} as ManagedProcess;
const seconds = (ms: number): number => Math.floor((Date.now() + ms) / 1000);

async function grantFor(authenticator: Authenticator, expiresInMs: number): Promise<Grant> {
	const token = jwt(SECRET, {sub: 'ann', exp: seconds(expiresInMs)});
	const result = await authenticator.authenticate(`Bearer ${token}`);
	if (result.kind === 'refused') throw new Error(result.text);
	return result.pass;
}

test('a share expires with the signed token that made it', async () => {
	const authenticator = new Authenticator({kind: 'signed', secretPath: fileWith(SECRET), skewSeconds: 0});
	const shares = new ShareTokens();
	const {expiresAtMs} = shares.create(process, 'observe', 24 * HOUR_MS, await grantFor(authenticator, HOUR_MS));
	expect(expiresAtMs).toBeLessThanOrEqual(Date.now() + HOUR_MS);
	const expired = {name: 'ann', source: {owner: 'ann', digest: '', expiresAtMs: Date.now() - 1}};
	expect(() => shares.create(process, 'observe', HOUR_MS, expired)).toThrow('the token of this connection has expired');
});

test('a share of a signed token ends with the secret that has signed it', async () => {
	const secretPath = fileWith(SECRET);
	const authenticator = new Authenticator({kind: 'signed', secretPath, skewSeconds: 0});
	const shares = new ShareTokens();
	const {token} = shares.create(process, 'drive', HOUR_MS, await grantFor(authenticator, HOUR_MS));
	const admit = (): Promise<{kind: string}> =>
		authenticator.authenticate(`Bearer ${token}`, given => shares.find(given));
	expect(await admit()).toMatchObject({kind: 'pass'});
	let isEnded = false;
	shares.watch(shares.find(token)!, () => {
		isEnded = true;
	});
	writeFileSync(secretPath, `another ${SECRET}`);
	authenticator.reload();
	expect(await admit()).toMatchObject({kind: 'refused'});
	shares.recheck(grant => authenticator.isGood(grant));
	expect(isEnded).toBe(true);
	expect(shares.list(() => true)).toEqual([]);
});
