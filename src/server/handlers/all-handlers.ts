import type {EnvironmentInfo} from '../../protocol/methods/environment-methods.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {AllHandlers} from '../connection/dispatch.js';
import {routeToSandbox} from '../fs-worker/sandbox-routing.js';
import {discoveryHandlers, environmentHandlers, sessionHandlers} from './environment-handlers.js';
import {fileHandleHandlers, fileHandlers} from './file-handlers.js';
import {forwardHandlers} from './forward-handlers.js';
import {httpHandlers} from './http-handlers.js';
import {listHandlers} from './list-handlers.js';
import {logHandlers} from './log-handlers.js';
import {processHandlers} from './process-handlers.js';
import {withReservedReplies} from './reserved-replies.js';
import {screenHandlers} from './screen-handlers.js';
import {sharingHandlers} from './sharing-handlers.js';
import {fileSearchHandlers, fileTransferHandlers, fileWatchHandlers} from './tree-handlers.js';
import {v0Handlers} from './v0-handlers.js';
import {waitHandlers} from './wait-handlers.js';

/** Handlers of every request this server answers. */
export function createHandlers(
	info: EnvironmentInfo,
	variables: Readonly<Record<string, string | undefined>>,
): AllHandlers<ClientConnection> {
	return withReservedReplies({
		...sessionHandlers(info),
		...environmentHandlers(info, variables),
		...processHandlers,
		...listHandlers,
		...sharingHandlers,
		...waitHandlers,
		...screenHandlers,
		...logHandlers,
		...routeToSandbox({
			...fileHandlers,
			...fileHandleHandlers,
			...fileTransferHandlers,
			...fileWatchHandlers,
			...fileSearchHandlers,
			...discoveryHandlers(variables),
		}),
		...httpHandlers,
		...forwardHandlers,
		...v0Handlers,
	});
}
