import type {EnvironmentInfo} from '../../protocol/environment.js';
import {environmentHandlers} from './environment.js';
import {fileHandleHandlers} from './file-handles.js';
import {fileSearchHandlers} from './file-searches.js';
import {fileTransferHandlers} from './file-transfers.js';
import {fileWatchHandlers} from './file-watches.js';
import {fileHandlers} from './files.js';
import {forwardHandlers} from './forward.js';
import {httpHandlers} from './http.js';
import {inSandbox} from './in-sandbox.js';
import {processHandlers} from './process.js';
import {sessionHandlers} from './session.js';
import {v0Handlers} from './v0.js';

/** Every request this server answers. */
export function createHandlers(info: EnvironmentInfo, variables: Readonly<Record<string, string | undefined>>) {
	return {
		...sessionHandlers(info),
		...environmentHandlers(info, variables),
		...processHandlers,
		...inSandbox({
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
