import {hostname} from 'node:os';
import type {EnvironmentInfo} from '../../protocol/environment.js';
import {INVALID_PARAMS, RpcError} from '../../protocol/error-codes.js';
import type {Handlers} from '../../rpc/router.js';
import type {ClientConnection} from '../client-connection.js';

const NO_LAYERS = {layers: [], cloudInsertionIndex: 0};

export function environmentHandlers(info: EnvironmentInfo) {
	return {
		'environment/info': () => info,

		'environment/status': () => ({status: 'ready'}),

		'environmentConfig/read': ({configPaths, requirementsPaths}) => {
			const paths = [...configPaths, ...requirementsPaths];
			if (paths.length === 0)
				throw new RpcError(INVALID_PARAMS, 'at least one config or requirements path is required');
			if (paths.some(path => path.length === 0)) {
				throw new RpcError(INVALID_PARAMS, 'TOML paths must contain at least one key segment');
			}
			const home = info.userHomeDir ?? 'file:///';
			return {
				userHomeDir: info.userHomeDir ?? null,
				codexHomeDir: `${home.replace(/\/$/, '')}/.codex`,
				hostname: hostname(),
				config: NO_LAYERS,
				requirements: NO_LAYERS,
			};
		},
	} satisfies Handlers<ClientConnection>;
}
