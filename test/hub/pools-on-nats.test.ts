// covers: src/hub/pools, src/hub/nats
// The promises of pools, with executors at one node and clients at another.
import {describe} from 'vitest';
import {useHubKind} from '../helpers/hubs.js';
import {needs} from '../helpers/needs.js';

useHubKind('nats');
describe('two nodes on NATS', needs('nats-server'), async () => {
	await import('./pools.test.js');
});
