// The NATS client is an optional dependency. It is loaded here and nowhere else, and only when a NATS server is used: it takes
// longer to load than the hub.
import {createRequire} from 'node:module';
import type * as JetStreamModule from '@nats-io/jetstream';
import type * as KvModule from '@nats-io/kv';
import type * as TransportModule from '@nats-io/transport-node';
import {LongarmError} from '../../shared/errors.js';

/** Core NATS. Throws `NATS_UNUSABLE` where it is not installed. */
export function loadTransport(): typeof TransportModule {
	return load('@nats-io/transport-node') as typeof TransportModule;
}

/** JetStream; see `loadTransport`. */
export function loadJetStream(): typeof JetStreamModule {
	return load('@nats-io/jetstream') as typeof JetStreamModule;
}

/** The key-value store; see `loadTransport`. */
export function loadKeyValue(): typeof KvModule {
	return load('@nats-io/kv') as typeof KvModule;
}

function load(name: string): unknown {
	try {
		return createRequire(import.meta.url)(name);
	} catch (cause) {
		throw new LongarmError('NATS_UNUSABLE', {
			message: `${name} cannot be loaded: install the optional dependencies of longarm`,
			cause,
		});
	}
}
