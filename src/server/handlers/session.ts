import type {EnvironmentInfo} from '../../protocol/environment.js';
import type {Handlers} from '../../rpc/router.js';
import type {ClientConnection} from '../client-connection.js';

export function sessionHandlers(environmentInfo: EnvironmentInfo) {
	return {
		initialize: ({resumeSessionId}, client) => {
			const session = client.greet(resumeSessionId ?? undefined);
			return {sessionId: session.id, environmentInfo};
		},
	} satisfies Handlers<ClientConnection>;
}
