import {createRequire} from 'node:module';
import {expect, test} from 'vitest';

const require = createRequire(import.meta.url);

// The product does without them; its tests do not.
test.each(['koffi', '@lydell/node-pty', 'bufferutil'])(
	'%s is installed and can be loaded by this Node, as other tests need',
	name => {
		let failure: unknown;
		try {
			require(name);
		} catch (error) {
			failure = error;
		}
		expect(failure, `${name} is missing or broken: npm install --include=optional`).toBeUndefined();
	},
);
