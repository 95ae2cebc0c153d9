import {isatty} from 'node:tty';
import type {Logger, LogLevel} from '../../../shared/logger.js';
import {createLineLogger} from '../../../shared/node/line-logger.js';
import type {Settings} from './serve-settings.js';

const STDERR = 2;

/** Logs to standard error in the form that the settings ask for. */
export function createServeLogger(settings: Settings, level: LogLevel): Logger {
	const format = settings['log-format'];
	return createLineLogger({
		level,
		format: format === 'auto' ? (isatty(STDERR) ? 'pretty' : 'json') : format,
	});
}
