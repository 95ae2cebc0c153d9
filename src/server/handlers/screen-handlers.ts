import {renderScreen} from '../../adapters/rendered-screen.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';

export const screenHandlers = {
	'process/screen': async (params, client) => {
		const process = await client.registry.requireStarted(params.processId, client);
		const controller = new AbortController();
		const unregister = client.lifetime.add(() => controller.abort());
		try {
			return await renderScreen(process, params, controller.signal);
		} finally {
			unregister();
		}
	},
} satisfies Handlers<ClientConnection>;
