import type {HubBackend} from '../../../hub/cluster/hub-cluster.js';
import {readSecretFile} from '../../../server/auth/secret-file.js';
import type {Logger} from '../../../shared/logger.js';
import {findIntegrityFault} from '../../../shared/node/private-file.js';
import {usageError} from '../../exit-codes.js';

const MAX_REPLICAS = 5;
const SERVER_URL = /^(?:nats|tls):\/\/[^\s@/]+$/;

/** As they were given; undefined stands for the default. */
export interface HubNatsOptions {
	/** `auto`, or addresses of servers. */
	readonly nats: readonly string[];
	readonly natsCreds: string | undefined;
	readonly natsTokenFile: string | undefined;
	readonly natsCa: string | undefined;
	readonly natsCert: string | undefined;
	readonly natsKey: string | undefined;
	readonly natsReplicas: string | undefined;
	readonly isNatsSynced: boolean;
}

/** State of a hub in NATS; undefined without `--nats`. The client of NATS is loaded here. */
export async function openHubBackend(
	options: HubNatsOptions,
	directory: string,
	logger: Logger,
): Promise<HubBackend | undefined> {
	const servers = options.nats.flatMap(each => each.split(',')).map(each => each.trim());
	const {natsCreds, natsTokenFile, natsCa, natsCert, natsKey, natsReplicas, isNatsSynced} = options;
	if (servers.length === 0) {
		const others = [natsCreds, natsTokenFile, natsCa, natsCert, natsKey, natsReplicas];
		if (isNatsSynced || others.some(each => each !== undefined))
			throw usageError('options that begin with --nats- go with --nats');
		return undefined;
	}
	requireServers(servers);
	if ((natsCert === undefined) !== (natsKey === undefined)) throw usageError('--nats-cert and --nats-key go together');
	// The client of NATS reads these files by itself, whoever else has access to them.
	if (natsKey !== undefined) readSecretFile(natsKey);
	if (natsCa !== undefined) readSecretFile(natsCa, findIntegrityFault);
	const {openNatsDirectory} = await import('../../../hub/nats/nats-directory.js');
	const hasTls = natsCa !== undefined || natsCert !== undefined;
	return openNatsDirectory({
		directory,
		servers,
		name: 'longarm hub',
		credentialsFile: natsCreds,
		token: natsTokenFile === undefined ? undefined : readSecretFile(natsTokenFile).trim(),
		tls: hasTls ? {caFile: natsCa, certFile: natsCert, keyFile: natsKey} : undefined,
		replicas: parseReplicas(natsReplicas),
		isSynced: isNatsSynced,
		logger,
	});
}

function requireServers(servers: readonly string[]): void {
	if (servers.includes('auto')) {
		if (servers.length > 1) throw usageError('--nats auto starts one server: there are no others to name');
		return;
	}
	for (const server of servers) {
		if (SERVER_URL.test(server)) continue;
		// Everybody on this machine can read the arguments of a program.
		if (server.includes('@')) throw usageError('--nats takes no password: use --nats-creds or --nats-token-file');
		throw usageError(`--nats \`${server}\`: expected auto, or an address such as nats://host:4222 or tls://host:4222`);
	}
}

function parseReplicas(text: string | undefined): number | undefined {
	if (text === undefined) return undefined;
	const replicas = Number(text);
	if (Number.isInteger(replicas) && replicas >= 1 && replicas <= MAX_REPLICAS) return replicas;
	throw usageError(`--nats-replicas is a number from 1 to ${MAX_REPLICAS}, not \`${text}\``);
}
