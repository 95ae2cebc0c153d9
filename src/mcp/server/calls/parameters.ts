import {suggestName} from '../../../shared/closest-name.js';

/** A parameter of a tool. There are no unions: some clients refuse them. */
export interface Parameter {
	readonly type: 'string' | 'number' | 'integer' | 'boolean' | 'strings' | ParameterTable;
	readonly isRequired?: true;
	readonly about?: string;
	readonly min?: number;
	readonly max?: number;
}

export interface ParameterTable {
	readonly [name: string]: Parameter;
}

type ValueOf<T extends Parameter['type']> = T extends 'string'
	? string
	: T extends 'number' | 'integer'
		? number
		: T extends 'boolean'
			? boolean
			: T extends 'strings'
				? readonly string[]
				: T extends ParameterTable
					? ArgumentsOf<T>
					: never;

/** Arguments that fit a table. */
export type ArgumentsOf<T extends ParameterTable> = {
	readonly [K in keyof T]: T[K] extends {isRequired: true} ? ValueOf<T[K]['type']> : ValueOf<T[K]['type']> | undefined;
};

/** JSON Schema of one parameter. */
interface JsonProperty {
	readonly [keyword: string]: string | number | string[] | JsonProperty | Record<string, JsonProperty>;
}

/** JSON Schema of a table. */
export function toJsonSchema(table: ParameterTable): {
	type: 'object';
	properties: Record<string, JsonProperty>;
	required?: string[];
} {
	const required = Object.keys(table).filter(name => table[name]!.isRequired);
	const properties = Object.fromEntries(
		Object.entries(table).map(([name, parameter]) => [name, toProperty(parameter)]),
	);
	return {type: 'object', properties, ...(required.length > 0 && {required})};
}

/** Checks the arguments of a call; throws a `TypeError` that names the one that is wrong. */
export function readArguments<T extends ParameterTable>(table: T, given: unknown, path = ''): ArgumentsOf<T> {
	if (given !== undefined && (typeof given !== 'object' || given === null || Array.isArray(given))) {
		throw new TypeError(`${path === '' ? 'arguments' : path.slice(0, -1)} must be an object`);
	}
	const values = (given ?? {}) as Record<string, unknown>;
	const names = Object.keys(table);
	const unknown = Object.keys(values).find(name => !Object.hasOwn(table, name));
	if (unknown !== undefined) {
		throw new TypeError(
			`unknown argument ${JSON.stringify(path + unknown)};${suggestName(unknown, names)} known are ${names.join(', ')}`,
		);
	}
	const read = names.map(name => [name, readValue(table[name]!, values[name] ?? undefined, path + name)]);
	return Object.fromEntries(read) as ArgumentsOf<T>;
}

/** Without bounds, which a call that breaks them is told: definitions are read by models with every request. */
function toProperty({type, about}: Parameter): JsonProperty {
	const description = about === undefined ? {} : {description: about};
	if (type === 'strings') return {type: 'array', items: {type: 'string'}, ...description};
	if (typeof type === 'object') return {...toJsonSchema(type), ...description};
	return {type, ...description};
}

function readValue({type, isRequired, min, max}: Parameter, value: unknown, name: string): unknown {
	if (value === undefined) {
		if (isRequired) throw new TypeError(`argument ${name} is missing`);
		return undefined;
	}
	if (typeof type === 'object') return readArguments(type, value, `${name}.`);
	const isFit = {
		string: () => typeof value === 'string',
		boolean: () => typeof value === 'boolean',
		number: () => Number.isFinite(value),
		integer: () => Number.isSafeInteger(value),
		strings: () => Array.isArray(value) && value.every(each => typeof each === 'string'),
	}[type]();
	if (!isFit)
		throw new TypeError(`argument ${name} must be ${type === 'strings' ? 'a list of strings' : `of type ${type}`}`);
	if (min !== undefined && (value as number) < min) throw new TypeError(`argument ${name} must be at least ${min}`);
	if (max !== undefined && (value as number) > max) throw new TypeError(`argument ${name} must be at most ${max}`);
	return value;
}
