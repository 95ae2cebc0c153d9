// covers: src/hub/nats/bucket-follower.ts, src/hub/nats/nats-tokens.ts, src/hub/nats/nats-store.ts
import {expect, onTestFinished, test} from 'vitest';
import {type NatsBackend, openNatsBackend} from '../../../src/hub/nats/nats-backend.js';
import {NatsBuckets} from '../../../src/hub/nats/nats-buckets.js';
import {openNatsLink} from '../../../src/hub/nats/nats-link.js';
import {silentLogger} from '../../../src/shared/logger.js';
import {runningNats} from '../../helpers/nats-servers.js';
import {eventually} from '../../helpers/processes.js';

test('a node starts and runs with entries in NATS that are no records, and reports them', async () => {
	const [server] = await runningNats();
	const warnings: string[] = [];
	const logger = {...silentLogger, warn: (text: string, facts = {}) => void warnings.push(text, JSON.stringify(facts))};
	const open = async (): Promise<NatsBackend> => {
		const backend = await openNatsBackend({servers: [server!.url], name: 'test', isSynced: true, logger});
		onTestFinished(() => backend.close());
		return backend;
	};
	const first = await open();
	const {token} = await first.tokens.create('client', '*');
	const buckets = new NatsBuckets(first.link);
	for (const name of ['longarm_tokens', 'longarm_registrations']) {
		const bucket = await buckets.open({name, storage: 'file'});
		await bucket.put('default.bad', '{"id":');
	}
	await eventually(() => warnings.filter(text => text.includes('is skipped')).length === 2);
	const second = await open();
	expect((await second.tokens.find(token, 'client'))?.pattern).toBe('*');
	expect(await second.store.listRegistrations()).toEqual([]);
	expect(warnings.join('\n')).toContain('default.bad');
});

test('a user of the same account who may read _INBOX sees nothing of the state of a hub', async () => {
	const [server] = await runningNats();
	const spy = await openNatsLink({servers: [server!.url], name: 'spy', logger: silentLogger});
	onTestFinished(() => spy.close());
	const seen: string[] = [];
	spy.subscribe('_INBOX.>', message => void seen.push(message.subject));
	expect(await spy.isAnswering()).toBe(true);
	const lines: string[] = [];
	const logger = {...silentLogger, info: (text: string) => void lines.push(text)};
	const backend = await openNatsBackend({servers: [server!.url], name: 'test', isSynced: true, logger});
	onTestFinished(() => backend.close());
	await backend.tokens.create('client', '*');
	expect([await backend.grants.claim('nonce'), await backend.grants.claim('nonce')]).toEqual([true, false]);
	expect(await spy.isAnswering()).toBe(true);
	expect(seen).toEqual([]);
	expect(lines.join('\n')).toContain('give hubs an account of their own');
});
