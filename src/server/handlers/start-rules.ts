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

/** Throws for commands of a kind the settings do not allow; `prepared` ones were resolved by the caller's policy. */
export function requireExecAllowed(settings: ServerSettings, kind: 'direct' | 'prepared'): void {
	const {allowDirectExec, allowPreparedExec} = settings;
	if (kind === 'direct' ? allowDirectExec : allowPreparedExec) return;
	throw new LongarmError('EXEC_REFUSED', {
		message: `this server does not start ${kind} commands`,
		context: {kind, allowDirectExec, allowPreparedExec},
	});
}
