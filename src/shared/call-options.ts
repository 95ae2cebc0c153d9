import {suggestName} from './closest-name.js';
import {type Duration, parseDuration} from './units.js';

/** Forms of option values that are checked; `any` is left to whom the value is for. */
type OptionKind = 'any' | 'flag' | 'text' | 'count' | 'limit' | 'duration' | 'function' | 'signal' | 'list' | 'object';

/** Forms that values of a type have. */
type KindOf<V> =
	| 'any'
	| ([V] extends [boolean]
			? 'flag'
			: [V] extends [number]
				? 'count' | 'limit' | 'duration'
				: [V] extends [string]
					? 'text'
					: [V] extends [Duration]
						? 'duration'
						: KindOfObject<V>);
type KindOfObject<V> = [V] extends [Callable]
	? 'function'
	: [V] extends [readonly unknown[]]
		? 'list'
		: [V] extends [AbortSignal]
			? 'signal'
			: 'object';
type Callable = ((...given: never[]) => unknown) | (abstract new (...given: never[]) => unknown);

/** Every option of a call and its form; a name that is missing here, or a form of another type, does not compile. */
export type OptionTable<T> = {readonly [K in keyof Required<T>]: KindOf<NonNullable<T[K]>>};

/** Options whose times in milliseconds may be durations. */
export type WithDurations<T> = {[K in keyof T]: K extends `${string}Ms` ? T[K] | string : T[K]};

/** Options with durations in milliseconds. */
export type ReadOptionsOf<T> = {
	[K in keyof T]: Duration extends NonNullable<T[K]>
		? NonNullable<T[K]> extends Duration
			? Exclude<T[K], string>
			: T[K]
		: T[K];
};

const EXPECTED: Readonly<Record<OptionKind, string>> = {
	any: 'anything',
	flag: 'true or false',
	text: 'text',
	count: 'a whole number that is not negative',
	limit: 'a number that is not negative',
	duration: "milliseconds that are not negative, or text with a unit such as '5s'",
	function: 'a function',
	signal: 'an AbortSignal',
	list: 'an array',
	object: 'an object',
};

/**
 * The options of a call, durations as milliseconds. Throws a `TypeError` with the name of an unknown option or of one with
 * a value of another form: what is asked for is done or refused.
 */
export function readOptions<T extends object>(
	options: WithDurations<T>,
	table: OptionTable<T>,
	where: string,
): ReadOptionsOf<T> {
	requireKnownOptions(options, Object.keys(table), where);
	let read = options as Record<string, unknown>;
	for (const [name, kind] of Object.entries(table) as [string, OptionKind][]) {
		const value = read[name];
		if (value === undefined || kind === 'any') continue;
		if (!hasForm(value, kind)) throw formError(`option \`${name}\` of ${where}`, EXPECTED[kind], value);
		if (kind === 'duration' && typeof value === 'string') read = {...read, [name]: parseDuration(value)};
	}
	return read as ReadOptionsOf<T>;
}

/** Throws a `TypeError` for a name that is none of these; members that are undefined ask for nothing. */
export function requireKnownOptions(options: object, names: readonly string[], where: string): void {
	if (typeof options !== 'object' || options === null) throw formError(`options of ${where}`, EXPECTED.object, options);
	for (const [name, value] of Object.entries(options)) {
		if (value === undefined || names.includes(name)) continue;
		const suggestion = suggestName(name, names);
		const end = suggestion === '' ? `; known are ${names.join(', ')}` : `;${suggestion}`;
		throw new TypeError(`unknown option \`${name}\` of ${where}${end}`);
	}
}

/** Milliseconds of a duration that is no option of its own. */
export function toMilliseconds(duration: Duration, name: string): number {
	if (!hasForm(duration, 'duration')) throw formError(name, EXPECTED.duration, duration);
	return typeof duration === 'string' ? parseDuration(duration)! : duration;
}

function hasForm(value: unknown, kind: OptionKind): boolean {
	switch (kind) {
		case 'any':
			return true;
		case 'flag':
			return typeof value === 'boolean';
		case 'text':
			return typeof value === 'string';
		case 'count':
			return Number.isSafeInteger(value) && (value as number) >= 0;
		case 'limit':
			return typeof value === 'number' && value >= 0;
		case 'duration':
			// NaN is not: it is neither above nor below anything.
			return typeof value === 'string' ? parseDuration(value) !== undefined : typeof value === 'number' && value >= 0;
		case 'function':
			return typeof value === 'function';
		case 'signal':
			return typeof value === 'object' && value !== null && 'aborted' in value && 'addEventListener' in value;
		case 'list':
			return Array.isArray(value);
		case 'object':
			return typeof value === 'object' && value !== null;
	}
}

/** The value of an option may be a secret: only numbers and durations are shown. */
function formError(name: string, expected: string, value: unknown): TypeError {
	const shown = typeof value === 'number' || expected === EXPECTED.duration ? `\`${String(value)}\`` : nameForm(value);
	return new TypeError(`${name} must be ${expected}, not ${shown}`);
}

function nameForm(value: unknown): string {
	if (value === null) return 'null';
	return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`;
}
