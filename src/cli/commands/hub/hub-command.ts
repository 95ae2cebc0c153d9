import {X509Certificate} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {isIP} from 'node:net';
import {isatty} from 'node:tty';
import {Hub} from '../../../hub/hub.js';
import {MAX_DRAIN_MS} from '../../../hub/hub-control.js';
import {readSecretFile} from '../../../server/auth/secret-file.js';
import {LongarmError} from '../../../shared/errors.js';
import {LOG_LEVELS, type Logger} from '../../../shared/logger.js';
import {createLineLogger, LOG_FORMATS} from '../../../shared/node/line-logger.js';
import {parseTimeValue} from '../../../shared/units.js';
import {formatFingerprint} from '../../../transports/node/fingerprint.js';
import {isLoopback} from '../../../transports/node/loopback.js';
import type {TlsIdentity} from '../../../transports/node/tls-server.js';
import {writeOut} from '../../common/stdout.js';
import {EXIT, usageError} from '../../exit-codes.js';
import {hubDirectory} from './hub-directory.js';
import {type HubNatsOptions, openHubBackend} from './hub-nats.js';

const STDERR = 2;
const MAX_PORT = 65_535;
const DEFAULT_LISTEN = 'http://127.0.0.1:8700';
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** As they were given; undefined stands for the default. */
export interface HubCommandOptions extends HubNatsOptions {
	/** `http://IP:PORT` or `https://IP:PORT`. */
	readonly listen: string | undefined;
	readonly data: string | undefined;
	readonly publicUrl: string | undefined;
	readonly tlsCert: string | undefined;
	readonly tlsKey: string | undefined;
	readonly allowHosts: readonly string[];
	readonly hasGateway: boolean;
	readonly hasJobs: boolean;
	readonly hasConsole: boolean;
	/** How long SIGTERM waits for streams to end. */
	readonly drainTimeout: string | undefined;
	readonly logLevel: string | undefined;
	readonly logFormat: string | undefined;
}

/** Runs a hub until a signal. */
export async function runHub(options: HubCommandOptions): Promise<number> {
	const {host, port, isSecure} = parseHubAddress(options.listen ?? DEFAULT_LISTEN);
	const readIdentity = createIdentityReader(options, isSecure);
	const logger = createHubLogger(options);
	const {allowHosts, hasGateway, hasConsole} = options;
	const publicUrl = parsePublicUrl(options.publicUrl);
	const data = hubDirectory(options.data);
	const drainMs = parseDrainTimeout(options.drainTimeout);
	// The one that is served: the files may be newer.
	let tls = readIdentity?.();
	const backend = await openHubBackend(options, data, logger);
	let url = '';
	const site = hasConsole
		? (await import('./hub-console.js')).createHubConsole({
				hub: () => hub,
				// The token of a browser must not travel in clear to a proxy.
				url: () => addressForItself(publicUrl?.startsWith('https:') ? publicUrl : url),
				identity: () => (publicUrl?.startsWith('https:') ? undefined : tls),
				isSecure: publicUrl?.startsWith('https:') ?? isSecure,
				logger,
			})
		: undefined;
	const hub: Hub = new Hub({host, port, data, backend, publicUrl, tls, allowHosts, hasGateway, site, logger});
	if (options.hasJobs) hub.attach((await import('../../../jobs/hub/job-routes.js')).OPENING_JOBS);
	url = await hub.listen().catch(async (error: unknown) => {
		await backend?.close();
		throw error;
	});
	const reload = (): void => {
		tls = reloadIdentity(hub, readIdentity, logger) ?? tls;
	};
	process.on('SIGHUP', reload);
	const ending = nextSignal();
	if (options.hasJobs) {
		const {openHubJobs} = await import('../../../jobs/hub/open-hub-jobs.js');
		const trust = {
			// Asked with each connection: the certificate may have been renewed.
			get fingerprint() {
				return tls && fingerprintOf(tls);
			},
		};
		await openHubJobs({hub, backend, url: addressForItself(url), data, logger, tls: trust});
		logger.warn('jobs are on: this hub sees what their commands get and print');
	}
	if (!isSecure && !isLoopback(host)) logger.warn('tokens travel in clear: put TLS in front of this hub', {url});
	if (hasGateway) logger.warn('the gateway is on: this hub can read what goes through it');
	if (hasConsole) logger.warn('the console is on: this hub can read what its browsers and machines say');
	await writeOut(`${url}\n${hasConsole ? `${publicUrl ?? url}/console/\n` : ''}`);
	logger.info('listening', {url, pid: process.pid});
	const reason = await Promise.race([ending, hub.drained.then(() => 'drained')]);
	logger.info('shutting down', {reason});
	for (const name of SIGNALS) process.once(name, () => process.exit(EXIT.ok));
	if (reason !== 'drained') await hub.drain(drainMs);
	await hub.close();
	return EXIT.ok;
}

/** A hub that listens on all addresses reaches itself by loopback. */
function addressForItself(url: string): string {
	return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

function fingerprintOf({cert}: TlsIdentity): string {
	return formatFingerprint(new X509Certificate(cert).fingerprint256);
}

function nextSignal(): Promise<NodeJS.Signals> {
	return new Promise(resolve => {
		for (const name of SIGNALS) process.once(name, resolve);
	});
}

/** The new certificate; undefined if the old one stays. */
function reloadIdentity(
	hub: Hub,
	readIdentity: (() => TlsIdentity) | undefined,
	logger: Logger,
): TlsIdentity | undefined {
	if (!readIdentity) {
		logger.warn('there is nothing to reload', {signal: 'SIGHUP'});
		return undefined;
	}
	try {
		const renewed = readIdentity();
		hub.renew(renewed);
		logger.info('reloaded', {what: 'certificate'});
		return renewed;
	} catch (error) {
		logger.error('cannot reload, the old one stays', {what: 'certificate', reason: (error as Error).message});
		return undefined;
	}
}

function createHubLogger({logLevel = 'info', logFormat = 'auto'}: HubCommandOptions): Logger {
	const level = LOG_LEVELS.find(each => each === logLevel);
	if (!level) throw usageError(`--log-level is one of ${LOG_LEVELS.join(', ')}, not \`${logLevel}\``);
	const automatic = isatty(STDERR) ? 'pretty' : 'json';
	const format = logFormat === 'auto' ? automatic : LOG_FORMATS.find(each => each === logFormat);
	if (!format) throw usageError(`--log-format is one of ${LOG_FORMATS.join(', ')} or auto, not \`${logFormat}\``);
	return createLineLogger({level, format});
}

function parseHubAddress(text: string): {readonly host: string; readonly port: number; readonly isSecure: boolean} {
	const match = /^(https?):\/\/(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):(\d{1,5})\/?$/.exec(text);
	const host = match?.[2] ?? match?.[3] ?? '';
	const port = Number(match?.[4]);
	if (match && isIP(host) !== 0 && port <= MAX_PORT) return {host, port, isSecure: match[1] === 'https'};
	throw new LongarmError('SETTING_INVALID', {
		message: `unsupported --listen URL \`${text}\`; expected http://IP:PORT or https://IP:PORT`,
	});
}

/** Milliseconds of a duration such as `30s`. */
export function parseDrainTimeout(text: string | undefined): number {
	const timeoutMs = parseTimeValue(text ?? '0');
	if (timeoutMs !== undefined && timeoutMs <= MAX_DRAIN_MS) return timeoutMs;
	throw usageError(`\`${text}\` is no time to wait for streams: expected one such as 30s, of a day at most`);
}

function parsePublicUrl(text: string | undefined): string | undefined {
	if (text === undefined) return undefined;
	const url = URL.canParse(text) ? new URL(text) : undefined;
	const isPlain = url && ['http:', 'https:'].includes(url.protocol) && url.search + url.hash + url.username === '';
	if (isPlain) return url.href.replace(/\/+$/, '');
	throw usageError(`--public-url \`${text}\`: expected an address such as https://hub.example`);
}

/** Reads certificate and key, now and on SIGHUP; undefined without TLS. */
function createIdentityReader(
	{tlsCert, tlsKey}: HubCommandOptions,
	isSecure: boolean,
): (() => TlsIdentity) | undefined {
	if (!isSecure && tlsCert === undefined && tlsKey === undefined) return undefined;
	if (!isSecure || tlsCert === undefined || tlsKey === undefined) {
		throw usageError('--listen https://IP:PORT, --tls-cert and --tls-key go together');
	}
	return () => ({cert: readFileSync(tlsCert), key: readSecretFile(tlsKey)});
}
