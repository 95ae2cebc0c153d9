import {onTestFinished} from 'vitest';
import {Environment} from '../../src/environments/environment.js';
import {LINKS} from './links.js';

/** This machine and every way to another one, as environments; closed with the test. */
export const MACHINES: Readonly<Record<string, () => Promise<Environment>>> = {
	'this machine': async () => closing(Environment.local()),
	...Object.fromEntries(
		Object.entries(LINKS).map(([name, link]) => [
			name,
			async () => {
				const recovers = !name.startsWith('stdio');
				return closing(Environment.remote('remote', {kind: 'transport', connect: await link(), recovers}));
			},
		]),
	),
};

function closing(environment: Environment): Environment {
	onTestFinished(() => environment.close());
	return environment;
}
