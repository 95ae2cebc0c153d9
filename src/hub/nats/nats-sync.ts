import type {Logger} from '../../shared/logger.js';
import {isOlderThan, type NatsLink} from './nats-link.js';

/** The first version that can write everything to disk before it is acknowledged. */
export const FIRST_SYNCING_NATS = [2, 10, 0] as const;

const LOSS = 'a power cut can take registrations, tokens and results of jobs that were acknowledged';
const REMEDY = 'set `sync_interval: always` in the jetstream block of every NATS server';

/**
 * Warns unless the servers are known to write to disk before they acknowledge. By default they do so every two minutes, and no
 * client can ask them: the setting shows only in the system account and on the monitoring port.
 */
export function warnOfSync(
	{version, server}: Pick<NatsLink, 'version' | 'server'>,
	isSynced: boolean,
	logger: Logger,
): void {
	const oldest = FIRST_SYNCING_NATS.join('.');
	if (isOlderThan(version, FIRST_SYNCING_NATS)) {
		const text = `this NATS server does not sync what it acknowledges: ${LOSS}. Run ${oldest} or later, and ${REMEDY}`;
		logger.warn(text, {server, version});
	} else if (!isSynced) {
		const text = `whether the NATS servers sync what they acknowledge cannot be asked; if they do not, ${LOSS}. To be safe, ${REMEDY}, and start the hub with --nats-synced`;
		logger.warn(text, {server, version});
	}
}
