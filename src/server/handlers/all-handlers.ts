import type {EnvironmentInfo} from '../../protocol/methods/environment-methods.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {AllHandlers} from '../connection/dispatch.js';
import {routeToSandbox} from '../fs-worker/sandbox-routing.js';
import {environmentHandlers} from './environment-handlers.js';
import {fileHandleHandlers} from './file-handle-handlers.js';
import {fileHandlers} from './file-handlers.js';
import {forwardHandlers} from './forward-handlers.js';
import {httpHandlers} from './http-handlers.js';
import {processHandlers} from './process-handlers.js';
import {fileSearchHandlers} from './search-handlers.js';
import {sessionHandlers} from './session-handlers.js';
import {fileTransferHandlers} from './transfer-handlers.js';
import {v0Handlers} from './v0-handlers.js';
import {fileWatchHandlers} from './watch-handlers.js';

/** Handlers of every request this server answers. */
export function createHandlers(
	info: EnvironmentInfo,
	variables: Readonly<Record<string, string | undefined>>,
): AllHandlers<ClientConnection> {
	return {
		...sessionHandlers(info),
		...environmentHandlers(info, variables),
		...processHandlers,
		...routeToSandbox({
			...fileHandlers,
			...fileHandleHandlers,
			...fileTransferHandlers,
			...fileWatchHandlers,
			...fileSearchHandlers,
		}),
		...httpHandlers,
		...forwardHandlers,
		...v0Handlers,
	};
}
