import {hostname} from 'node:os';
import type {EnvironmentInfo} from '../../protocol/environment.js';
import {INVALID_PARAMS, RpcError} from '../../protocol/error-codes.js';
import {PathUri} from '../../protocol/path-uri.js';
import type {Handlers} from '../../rpc/router.js';
import type {ClientConnection} from '../client-connection.js';
import {codexHome, readConfig} from '../executor-config.js';

const NO_LAYERS = {layers: [], cloudInsertionIndex: 0};

export function environmentHandlers(info: EnvironmentInfo, variables: Readonly<Record<string, string | undefined>>) {
	return {
		'environment/info': () => info,

		'environment/status': () => ({status: 'ready'}),

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
