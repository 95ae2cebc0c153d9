import {LOG_LEVELS, type LogFields, type Logger, type LogLevel, silentLogger} from '../logger.js';
import {escapeActing} from '../safe-json.js';
import {createStderrWriter} from './stderr-writer.js';

export const LOG_FORMATS = ['json', 'pretty'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

/** Characters of a text in an entry. */
export const MAX_FIELD_CHARS = 8192;

export interface LineLoggerOptions {
	readonly level: LogLevel;
	readonly format: LogFormat;
	/** Receives the lines, and returns false for one that it dropped; writes to stderr by default. */
	readonly write?: (line: string) => unknown;
	readonly now?: () => Date;
}

/** One line per entry; the JSON form has the members `level`, `time`, `msg` that common log readers expect. */
export function createLineLogger(options: LineLoggerOptions): Logger {
	const {level, format, write = createStderrWriter(), now = () => new Date()} = options;
	if (level === 'silent') return silentLogger;
	const threshold = LOG_LEVELS.indexOf(level);
	const render = format === 'json' ? renderJson : renderPretty;
	let dropped = 0;
	const writeOrCount = (line: string): void => {
		if (dropped > 0) {
			const notice = render('warn', now(), 'log entries were dropped', {count: dropped});
			if (write(notice) !== false) dropped = 0;
		}
		if (write(escapeActing(line)) === false) dropped++;
	};

	const create = (bound: LogFields): Logger => {
		const logAt =
			(entryLevel: LogLevel) =>
			(message: string, fields: LogFields = {}): void => {
				if (LOG_LEVELS.indexOf(entryLevel) < threshold) return;
				writeOrCount(render(entryLevel, now(), message, {...bound, ...fields}));
			};
		return {
			debug: logAt('debug'),
			info: logAt('info'),
			warn: logAt('warn'),
			error: logAt('error'),
			with: fields => create({...bound, ...fields}),
		};
	};
	return create({});
}

/** Texts in fields may be those of the other end of a connection. */
function shortenTexts(_name: string, value: unknown): unknown {
	if (typeof value !== 'string' || value.length <= MAX_FIELD_CHARS) return value;
	return `${value.slice(0, MAX_FIELD_CHARS)}...`;
}

function renderJson(level: LogLevel, time: Date, msg: string, fields: LogFields): string {
	return `${JSON.stringify({level, time: time.toISOString(), msg, ...fields}, shortenTexts)}\n`;
}

function renderPretty(level: LogLevel, time: Date, message: string, fields: LogFields): string {
	const values = Object.entries(fields).map(([name, value]) => ` ${name}=${formatValue(value)}`);
	return `${time.toISOString().slice(11, 23)} ${level.padEnd(5)} ${message}${values.join('')}\n`;
}

function formatValue(value: unknown): string {
	return typeof value === 'string' && value.length <= MAX_FIELD_CHARS && /^[\w.:/@+-]+$/.test(value)
		? value
		: (JSON.stringify(value, shortenTexts) ?? 'undefined');
}
