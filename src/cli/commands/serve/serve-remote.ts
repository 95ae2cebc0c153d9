import {availableParallelism} from 'node:os';
import {join} from 'node:path';
import type {ProcessCount} from '../../../processes/process-quota.js';
import type {PoolOffer} from '../../../protocol/relay/executor-offer.js';
import {MAX_SLOTS} from '../../../protocol/relay/pool-selector.js';
import {decodeRelayKey} from '../../../protocol/relay/relay-keys.js';
import {readSecretFile} from '../../../server/auth/secret-file.js';
import {type SlotClient, Slots} from '../../../server/slots.js';
import {Deferred} from '../../../shared/async/deferred.js';
import {errorMessage} from '../../../shared/errors.js';
import type {Logger} from '../../../shared/logger.js';
import {findIntegrityFault} from '../../../shared/node/private-file.js';
import {stateHome} from '../../../shared/node/state-home.js';
import {publicKeysOf} from '../../../shared/noise/hybrid-ik.js';
import {ExecutorLink, type PlacedClient} from '../../../transports/node/relay/executor-link.js';
import type {StreamCaller} from '../../../transports/node/relay/executor-streams.js';
import {loadNoiseKeys} from '../../../transports/node/relay/key-file.js';
import {fingerprintOfKeys} from '../../../transports/node/relay/known-executors.js';
import {ENVIRONMENT_ID, parseRegistryUrl, RegistryClient} from '../../../transports/node/relay/registry-client.js';
import {RegistryConfigError} from '../../../transports/node/relay/registry-errors.js';
import {requireSecureRegistry} from '../../../transports/node/relay/secure-registry.js';
import {requireFingerprint, type TlsOptions} from '../../../transports/node/tls-trust.js';
import type {Transport} from '../../../transports/transport.js';
import type {CredentialState} from './credential-frames.js';
import {openRemoteCredential, type RemoteCredential} from './remote-credential.js';
import {invalidSetting, type Settings} from './serve-settings.js';

/** How often the load is looked at; it is told at once when a process or a client of a hub comes or goes. */
const LOAD_CHECK_MS = 1000;
const FINGERPRINT = /^sha256:[0-9a-f]{64}$/;

/** The registries this server is reached through. */
export interface RemoteServing {
	/** Settles with the reason when it has to stop; rejects if a registry refuses it for good. */
	readonly over: Promise<string>;
	/** Credential for the program that takes the place of this one. */
	readonly handOver: RemoteCredential['handOver'];
	/** Tells the hubs that pools are to send nobody any more, and refuses those who come all the same. */
	leavePools(): void;
	close(): void;
}

/** Takes clients of the registries. */
export interface RemoteAcceptor {
	/** Processes of all clients that are starting or running; undefined where they are not known. */
	readonly commands?: Pick<ProcessCount, 'used' | 'onChange'>;
	/** `isPlaced` for a client that a pool has sent: its slot was taken before. */
	accept(transport: Transport, isPlaced: boolean): SlotClient;
}

/** Registers with every hub of `--remote` as soon as there is someone to take clients. */
export async function openRemoteServing(
	settings: Settings,
	acceptor: Promise<RemoteAcceptor>,
	logger: Logger,
	inherited?: CredentialState,
): Promise<RemoteServing> {
	const {remote: urls} = settings;
	const environmentId = requireEnvironmentId(settings['environment-id']);
	for (const url of urls) requireSecureRegistry(parseRegistryUrl(url));
	const keys = loadNoiseKeys(settings['key-file'] ?? defaultKeyFile(environmentId));
	const isAllowed = readAllowedKeys(settings['allow-harness-key']);
	const tls = readTrust(settings, urls);
	const credential = await openRemoteCredential(settings, {environmentId, inherited});
	logger.info('key of this executor', {fingerprint: fingerprintOfKeys(publicKeysOf(keys))});
	const over = new Deferred<string>();
	const offer = toOffer(settings);
	let server: RemoteAcceptor | undefined;
	const slots = new Slots({
		limit: offer.slots,
		runningProcesses: () => server?.commands?.used ?? 0,
		onChange: () => reportLoad(),
	});
	const reportLoad = (): void => {
		for (const link of links) link.reportLoad();
	};
	const reporting = setInterval(reportLoad, LOAD_CHECK_MS).unref();
	const take = async (transport: Transport, place: PlacedClient | undefined): Promise<void> => {
		slots.join((await acceptor).accept(transport, place !== undefined), place);
	};
	const accept = (transport: Transport, place?: PlacedClient): void => void take(transport, place);
	const links = urls.map(url => {
		const registry = new RegistryClient({
			url,
			environmentId,
			token: credential.token,
			hidesBodies: credential.isScoped,
			tls,
		});
		return new ExecutorLink({registry, keys, isAllowed, offer, slots, logger, tls, accept});
	});
	const begin = async (): Promise<void> => {
		server = await acceptor;
		server.commands?.onChange(() => slots.changed());
	};
	const begun = begin();
	let left = links.length;
	const run = async (link: ExecutorLink): Promise<void> => {
		await begun;
		try {
			await link.run();
		} catch (error) {
			logger.error('a registry refuses this executor', {reason: errorMessage(error)});
			// Others may still be reached.
			if (--left === 0) over.reject(error);
		}
	};
	for (const link of links) void run(link);
	credential.over.then(
		reason => over.resolve(reason),
		(error: Error) => over.reject(error),
	);
	// An error that comes while the server is loaded is told by whoever waits for it then.
	over.promise.catch(() => {});
	return {
		over: over.promise,
		handOver: credential.handOver,
		leavePools: () => slots.drain(),
		close: () => {
			clearInterval(reporting);
			for (const link of links) link.close();
		},
	};
}

/** A machine has a slot for each processor unless its owner knows better. */
function toOffer({pool, label, slots}: Settings): PoolOffer {
	const os = {darwin: 'macos', win32: 'windows'}[process.platform as string] ?? process.platform;
	return {
		labels: {os, arch: process.arch, ...label},
		pools: [...pool],
		slots: slots ?? Math.min(availableParallelism(), MAX_SLOTS),
	};
}

function requireEnvironmentId(id: string | undefined): string {
	const trimmed = id?.trim() ?? '';
	if (trimmed === '') {
		throw new RegistryConfigError('environment id is required for remote exec-server registration');
	}
	if (ENVIRONMENT_ID.test(trimmed)) return trimmed;
	throw invalidSetting('--environment-id has up to 64 letters, digits, _ and -');
}

/** Whom to trust at hubs with TLS. */
function readTrust(settings: Settings, urls: readonly string[]): TlsOptions {
	const {'remote-ca-file': caFile, 'remote-tls-fingerprint': fingerprint} = settings;
	if (caFile === undefined && fingerprint === undefined) return {};
	if (!urls.every(url => url.startsWith('https:'))) {
		throw invalidSetting('--remote-ca-file and --remote-tls-fingerprint go with https:// hubs only');
	}
	return {caFile, fingerprint: fingerprint === undefined ? undefined : requireFingerprint(fingerprint)};
}

function defaultKeyFile(environmentId: string): string {
	const home = stateHome(process.env);
	if (home === undefined) throw invalidSetting('--key-file is needed: this user has no home directory');
	return join(home, 'executor-keys', `${environmentId}.json`);
}

/** Fingerprints of clients, one per line; undefined lets in whom the registry lets in. */
function readAllowedKeys(path: string | undefined): ((caller: StreamCaller) => boolean) | undefined {
	if (path === undefined) return undefined;
	let lines: string[];
	try {
		lines = readSecretFile(path, findIntegrityFault).split('\n');
	} catch (error) {
		throw invalidSetting(`--allow-harness-key ${path}: ${errorMessage(error)}`);
	}
	const keys = lines.map(line => line.replace(/#.*/, '').trim()).filter(line => line !== '');
	const wrong = keys.find(key => !FINGERPRINT.test(key));
	if (wrong !== undefined) throw invalidSetting(`--allow-harness-key ${path}: expected lines of sha256:HEX`);
	const allowed = new Set(keys);
	return ({key}) => allowed.has(fingerprintOfKeys(decodeRelayKey(key)));
}
