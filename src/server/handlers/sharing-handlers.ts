import type {ManagedProcess} from '../../processes/managed-process.js';
import {LongarmError} from '../../shared/errors.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';
import {isOwner, notOwnerError} from '../sharing/process-access.js';

/** Share tokens are good for an hour unless another time is asked for. */
export const DEFAULT_SHARE_MS = 60 * 60_000;

export const sharingHandlers = {
	'process/attach': async ({process: reference, role, afterSeq, takeover, size}, client) => {
		const process = await client.registry.requireStarted(reference, client);
		// The session may be over with it, and would never leave the process.
		client.requireOpen();
		const {log} = process;
		const after = Math.min(afterSeq ?? log.nextSeq - 1, log.nextSeq - 1);
		const {driver: before} = client.registry.share(process);
		const {processId} = client.registry.attach(process, client, {role, takeover, afterSeq: after});
		const isTakeover = role === 'drive' && before !== undefined && before.session !== client.session;
		client.metrics.recordAttach(role, isTakeover);
		if (role === 'drive' && size) resize(process, client, size);
		client.audit?.attached({session: client.session.id, process: process.id, role, isTakeover});
		const {terminalSize} = process;
		return {
			processId,
			role,
			firstSeq: Math.max(after + 1, Math.min(log.firstSeq, log.nextSeq)),
			nextSeq: log.nextSeq,
			rows: terminalSize?.rows ?? null,
			cols: terminalSize?.columns ?? null,
			driver: client.registry.share(process).driverName,
		};
	},

	'process/detach': ({processId}, client) => {
		const process = client.session.find(processId);
		if (process) client.registry.share(process).leave(client.session, 'detached');
		return {};
	},

	'process/share': ({processId, role, forMs}, client) => {
		const process = client.registry.require(processId, client);
		if (!isOwner(process, client.grant)) throw notOwnerError(process.id);
		if (!client.grant) {
			throw new LongarmError('SHARE_REFUSED', {message: 'this server lets everybody in without a token'});
		}
		const {token, shareId, expiresAtMs} = client.shares.create(process, role, forMs ?? DEFAULT_SHARE_MS, client.grant);
		client.metrics.recordShare(role);
		client.audit?.shared({session: client.session.id, process: process.id, role, expiresAtMs});
		return {token, processId: process.id, role, expiresAtMs, shareId};
	},

	'process/shares': ({processId}, client) => {
		const process = processId == null ? undefined : client.registry.require(processId, client);
		const isIncluded = (each: ManagedProcess): boolean =>
			isOwner(each, client.grant) && (process === undefined || each === process);
		const shares = client.shares.list(isIncluded);
		return {shares: shares.map(({process: {id}, ...share}) => ({...share, processId: id}))};
	},

	'process/unshare': ({shareId}, client) => ({
		revoked: client.shares.revoke(shareId, process => isOwner(process, client.grant)),
	}),
} satisfies Handlers<ClientConnection>;

function resize(process: ManagedProcess, client: ClientConnection, {rows, cols}: {rows: number; cols: number}): void {
	if (process.resize({rows, columns: cols})) client.registry.share(process).tellResized(rows, cols);
}
