import {answerWait, toWaitConditions} from '../../adapters/awaited-conditions.js';
import type {ManagedProcess} from '../../processes/managed-process.js';
import {accountOf} from '../auth/grant.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';
import {findPendingPlan} from './pending-plans.js';

/** A start that waits for its plan is waited for. */
async function requireObserved(client: ClientConnection, processId: string): Promise<ManagedProcess> {
	await findPendingPlan(client, processId);
	return client.registry.requireStarted(processId, client);
}

export const waitHandlers = {
	'process/waitFor': async (params, client) => {
		// Before the process is looked for: a request without a condition fails whatever it names.
		toWaitConditions(params);
		const process = await requireObserved(client, params.processId);
		// A connection without a token is an account of its own.
		return answerWait(process, params, client.lifetime, accountOf(client.grant) ?? client);
	},
} satisfies Handlers<ClientConnection>;
