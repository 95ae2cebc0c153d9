import type {EnvironmentInfo} from '../../protocol/environment.js';
import {V0_VERSION} from '../../protocol/v0.js';
import type {Handlers} from '../../rpc/router.js';
import type {ClientConnection} from '../client-connection.js';

export function sessionHandlers(environmentInfo: EnvironmentInfo) {
	return {
		initialize: ({resumeSessionId}, client) => {
			const session = client.greet(resumeSessionId ?? undefined);
			return {sessionId: session.id, protocolVersion: V0_VERSION, environmentInfo};
		},
	} satisfies Handlers<ClientConnection>;
}
