// covers: src/hub/nats, src/hub/cluster
// The promises of a hub, with executors at one node and clients at another.
import {describe} from 'vitest';
import {useHubKind} from '../helpers/hubs.js';
import {needs} from '../helpers/needs.js';

useHubKind('nats');
describe('two nodes on NATS', needs('nats-server'), async () => {
	await import('./rules.test.js');
	await import('./hub.test.js');
	await import('./executor-tickets.test.js');
	await import('./tenants.test.js');
	await import('./gateway.test.js');
	await import('./access.test.js');
});
