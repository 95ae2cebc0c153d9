export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export type LogFields = Record<string, unknown>;

/** Structured log: a constant sentence and the values that vary. Never hand it output, environments or tokens. */
export interface Logger {
	debug(message: string, fields?: LogFields): void;
	info(message: string, fields?: LogFields): void;
	warn(message: string, fields?: LogFields): void;
	error(message: string, fields?: LogFields): void;
	/** The same log with these fields on every line. */
	with(fields: LogFields): Logger;
}

export const silentLogger: Logger = {
	debug() {},
	info() {},
	warn() {},
	error() {},
	with: () => silentLogger,
};
