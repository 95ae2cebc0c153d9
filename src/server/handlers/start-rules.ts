import type {Params} from '../../protocol/methods/method-table.js';
import {LongarmError} from '../../shared/errors.js';
import type {AuditedStart} from '../audit.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {ServerSettings} from '../options.js';

/** Enters a start in the audit log, or in the log for whom is interested in everything. */
export function recordStart(client: ClientConnection, started: AuditedStart): void {
	if (client.audit) return client.audit.started(started);
	const {process, pid, argv, trace} = started;
	// Not the arguments: they may hold secrets.
	client.logger.debug('process started', {process, pid, program: argv[0], ...(trace && {trace})});
}

/** Why a process cannot outlive its client, and what to do. */
export const ENDS_WITH_CLIENT =
	'this server exits with its client (--listen stdio); start `longarm serve --listen unix:PATH` on its machine, and connect to that';

/** Throws for a process that is to outlive its client and would end with the server. */
export function requireLastingServer(
	{endsWithClient}: ServerSettings,
	{onDisconnect, durable}: Pick<Params<'process/start'>, 'onDisconnect' | 'durable'>,
): void {
	if (!endsWithClient || onDisconnect !== 'keep' || durable) return;
	throw new LongarmError('NOT_SUPPORTED', {message: `the process cannot outlive its client: ${ENDS_WITH_CLIENT}`});
}

/** Throws for commands of a kind the settings do not allow; `prepared` ones were resolved by the caller's policy. */
export function requireExecAllowed(settings: ServerSettings, kind: 'direct' | 'prepared'): void {
	const {allowDirectExec, allowPreparedExec} = settings;
	if (kind === 'direct' ? allowDirectExec : allowPreparedExec) return;
	throw new LongarmError('EXEC_REFUSED', {
		message: `this server does not start ${kind} commands`,
		context: {kind, allowDirectExec, allowPreparedExec},
	});
}
