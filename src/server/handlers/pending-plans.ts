import type {ClientConnection} from '../connection/client-connection.js';

/** Starts whose sandbox policy is still being resolved, by session and process id. */
const pendingPlans = new WeakMap<object, Map<string, Promise<unknown>>>();

/** Undefined unless a start of this process waits for its plan; settles, without an error, when it has one or failed. */
export function findPendingPlan({session}: ClientConnection, processId: string): Promise<unknown> | undefined {
	return pendingPlans.get(session)?.get(processId);
}

/**
 * Starts a process when its plan is there. Requests about the process that come meanwhile find it with `findPendingPlan` and
 * wait, too. Rejects if the connection is gone by then: its session may be.
 */
export async function startWhenPlanned<T, R>(
	client: ClientConnection,
	processId: string,
	plan: Promise<T>,
	start: (planned: T) => Promise<R>,
): Promise<R> {
	const plans = pendingPlans.get(client.session) ?? new Map<string, Promise<unknown>>();
	pendingPlans.set(client.session, plans);
	const settled = Promise.allSettled([plans.get(processId), plan]);
	plans.set(processId, settled);
	let starting: Promise<R>;
	try {
		await settled;
		client.requireOpen();
		// Takes the id at once, so that it is never unknown between the two.
		starting = start(await plan);
	} finally {
		if (plans.get(processId) === settled) plans.delete(processId);
	}
	return starting;
}
