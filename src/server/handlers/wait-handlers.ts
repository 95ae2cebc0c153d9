import type {ManagedProcess} from '../../processes/managed-process.js';
import {type WaitConditions, waitForConditions} from '../../processes/wait/wait-conditions.js';
import type {Params} from '../../protocol/methods/method-table.js';
import {INVALID_PARAMS, RpcError} from '../../protocol/wire/error-codes.js';
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
		const conditions = toConditions(params);
		const process = await requireObserved(client, params.processId);
		// A connection without a token is an account of its own.
		return waitForConditions(process, conditions, client.lifetime, accountOf(client.grant) ?? client);
	},
} satisfies Handlers<ClientConnection>;

function toConditions(params: Params<'process/waitFor'>): WaitConditions {
	const conditions = {
		exit: params.exit,
		pattern: params.pattern ?? undefined,
		afterSeq: params.afterSeq ?? undefined,
		port: params.port ?? undefined,
		silenceMs: params.silenceMs ?? undefined,
		input: params.input,
		timeoutMs: params.timeoutMs ?? undefined,
	};
	const {exit, pattern, port, silenceMs, input} = conditions;
	if (exit || input || pattern !== undefined || port !== undefined || silenceMs !== undefined) return conditions;
	throw new RpcError(INVALID_PARAMS, 'nothing to wait for');
}
