import {hostname} from 'node:os';
import type {EnvironmentInfo} from '../../protocol/methods/environment-methods.js';
import {V0_VERSION} from '../../protocol/methods/v0-methods.js';
import {PathUri} from '../../protocol/path-uri/path-uri.js';
import {INVALID_PARAMS, RpcError} from '../../protocol/wire/error-codes.js';
import {LongarmError} from '../../shared/errors.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';
import type {Session} from '../connection/sessions.js';
import {codexHome, readConfig} from './executor-config.js';

const NO_LAYERS = {layers: [], cloudInsertionIndex: 0};

export function environmentHandlers(info: EnvironmentInfo, variables: Readonly<Record<string, string | undefined>>) {
	return {
		'environment/info': (_params, client) => describeFor(client, info),

		'environment/status': () => ({status: 'ready'}),

		// Where there is a daemon, the request has been answered before it came here.
		'environment/daemon': () => {
			const message = 'this server connects no client to a daemon, or not after the first request';
			throw new LongarmError('NOT_SUPPORTED', {message});
		},

		'environment/upgrade': async ({to}, client) => {
			await client.upgrade({...(to != null && {to})});
			return {};
		},

		'environmentConfig/read': async ({configPaths, requirementsPaths}) => {
			const paths = [...configPaths, ...requirementsPaths];
			if (paths.length === 0)
				throw new RpcError(INVALID_PARAMS, 'at least one config or requirements path is required');
			if (paths.some(path => path.length === 0)) {
				throw new RpcError(INVALID_PARAMS, 'TOML paths must contain at least one key segment');
			}
			const home = codexHome(variables);
			return {
				userHomeDir: info.userHomeDir ?? null,
				codexHomeDir: PathUri.fromNative(home).href,
				hostname: hostname(),
				config: {layers: await readConfig(home, configPaths), cloudInsertionIndex: 0},
				requirements: NO_LAYERS,
			};
		},
	} satisfies Handlers<ClientConnection>;
}

/**
 * A client that may have no variable sent in a header learns so, and sends values of its own instead; one that may have the
 * server replaced learns that.
 */
function describeFor(client: ClientConnection, info: EnvironmentInfo): EnvironmentInfo {
	const {maySendVariables, mayUpgrade} = client;
	if (maySendVariables && !mayUpgrade) return info;
	const changes = {...(!maySendVariables && {httpHeaderEnvVars: false}), ...(mayUpgrade && {serverUpgrade: true})};
	return {...info, capabilities: {...info.capabilities, ...changes}};
}

/** Reads files, and so in the sandbox of the request if it has one. */
export function discoveryHandlers(variables: Readonly<Record<string, string | undefined>>) {
	return {
		'capabilities/discoverV2': async () => {
			const {discoverCapabilities} = await import('../discovery/discover-capabilities.js');
			return discoverCapabilities(variables);
		},
	} satisfies Handlers<ClientConnection>;
}

export function sessionHandlers(environmentInfo: EnvironmentInfo) {
	const toResult = ({id: sessionId}: Session, client: ClientConnection) => ({
		sessionId,
		protocolVersion: V0_VERSION,
		environmentInfo: describeFor(client, environmentInfo),
	});
	return {
		initialize: ({resumeSessionId, clientName}, client) => {
			if (resumeSessionId === undefined || resumeSessionId === null)
				return toResult(client.initialize(clientName), client);
			const session = client.resume(resumeSessionId);
			return session instanceof Promise
				? session.then(resumed => toResult(resumed, client))
				: toResult(session, client);
		},
	} satisfies Handlers<ClientConnection>;
}
