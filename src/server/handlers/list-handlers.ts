import {describeProcess, type ProcessEntry} from '../../adapters/describe-process.js';
import type {ManagedProcess} from '../../processes/managed-process.js';
import {hasLabels} from '../../processes/process-sharing.js';
import {readProcessWait} from '../../processes/wait/process-wait.js';
import {Yielder} from '../../shared/node/yielder.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';
import type {Session} from '../connection/sessions.js';
import {generation} from '../generation.js';
import type {ListedMember} from '../sharing/shared-processes.js';

/** Time one list may spend on what its processes wait for: each look reads /proc. Beyond it that is left out. */
const MAX_LOOKS_MS = 50;

/** A process and the session it belongs to. */
type Listed = readonly [ManagedProcess, Session | undefined];

export const listHandlers = {
	'process/list': async (params, client) => {
		const {all, labels, includeEnded} = params;
		const {session, registry, grant} = client;
		const own = new Set(session.processes);
		const isShown = ([process]: Listed): boolean =>
			(!all || includeEnded || own.has(process) || hasNotEnded(process)) && hasLabels(process.sharing, labels ?? {});
		const listed = (all ? [...registry.visibleTo(grant)] : [...own].map((each): Listed => [each, session])).filter(
			isShown,
		);
		// In slices: there may be very many processes, and other clients have requests, too.
		const yielder = new Yielder();
		let looksMs = 0;
		const processes: Promise<ProcessEntry>[] = [];
		for (const [process, home] of listed) {
			await yielder.yieldIfDue();
			const entry = {
				...describeProcess(process),
				...describeClients(registry.listMembers(process, home), session),
				generation: process.options.restored?.generation ?? generation(),
			};
			const startedAt = performance.now();
			processes.push(all && looksMs < MAX_LOOKS_MS ? addWait(entry, process) : Promise.resolve(entry));
			looksMs += performance.now() - startedAt;
		}
		return {processes: await Promise.all(processes)};
	},
} satisfies Handlers<ClientConnection>;

async function addWait(entry: ProcessEntry, process: ManagedProcess): Promise<ProcessEntry> {
	return {...entry, waitingFor: await readProcessWait(process)};
}

/** A closed process of the session itself is listed for as long as it is kept in memory: its client may not have read its end. */
function hasNotEnded({state}: ManagedProcess): boolean {
	return state.kind !== 'closed' && state.kind !== 'lost' && state.kind !== 'failed';
}

function describeClients(members: readonly ListedMember[], asking: Session): Pick<ProcessEntry, 'attached' | 'driver'> {
	const present = members.filter(({session}) => session.isAttached);
	return {
		attached: present.map(({session, role, since}) => ({
			client: session.clientName,
			role,
			sinceMs: Math.round(performance.now() - since),
			...(session === asking && {isSelf: true}),
		})),
		driver: present.find(({role}) => role === 'drive')?.session.clientName ?? null,
	};
}
