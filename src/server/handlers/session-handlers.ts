import type {EnvironmentInfo} from '../../protocol/methods/environment-methods.js';
import {V0_VERSION} from '../../protocol/methods/v0-methods.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';

export function sessionHandlers(environmentInfo: EnvironmentInfo) {
	return {
		initialize: ({resumeSessionId}, client) => {
			const session = client.initialize(resumeSessionId ?? undefined);
			return {sessionId: session.id, protocolVersion: V0_VERSION, environmentInfo};
		},
	} satisfies Handlers<ClientConnection>;
}
