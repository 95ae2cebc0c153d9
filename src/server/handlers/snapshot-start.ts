import type {StartRequest} from '../../processes/prepare-spawn.js';
import type {ClientConnection} from '../connection/client-connection.js';

/** Adds the step that loads a shell snapshot of the session, where the request asks for one and it can be handed over. */
export function withShellSnapshot(request: StartRequest, client: ClientConnection): StartRequest {
	if (!request.shellSnapshot || !client.settings.backend().passesContent) return request;
	const {session} = client;
	const prepare = async (cancelled: AbortSignal): Promise<StartRequest> => {
		const snapshots = await session.openSnapshots(() => client.createTable('preparation'), client.logger);
		return snapshots.apply(request, cancelled);
	};
	return {...request, prepare};
}
