import type {LogFields, Logger, LogLevel} from '../../../shared/logger.js';
import {createLineLogger} from '../../../shared/node/line-logger.js';
import type {Settings} from './serve-settings.js';

/** The audit log of a server: of logins, starts and refusals. */
export interface AuditLog {
	readonly write: (event: string, fields: LogFields) => void;
	/** Opens its file again; undefined where it has none. */
	readonly reopen?: () => void;
}

/** A file of its own, else the log if that shows entries of its level; undefined if nobody would see them. */
export async function openAuditLog(settings: Settings, logger: Logger, level: LogLevel): Promise<AuditLog | undefined> {
	const path = settings['audit-log'];
	if (path === undefined) {
		const isShown = level === 'debug' || level === 'info';
		return isShown ? {write: (event, fields) => logger.info(event, fields)} : undefined;
	}
	const {AuditFile} = await import('./audit-file.js');
	const file = new AuditFile(path);
	const log = createLineLogger({level: 'info', format: 'json', write: file.write});
	return {write: (event, fields) => log.info(event, fields), reopen: () => file.reopen()};
}
