import {declarationOf} from '../../protocol/methods/method-table.js';
import {JsonParts} from '../../protocol/wire/encode.js';
import type {Request} from '../../protocol/wire/envelope.js';

/** The params of a request by name, also when they came by position. */
export function namedParams({method, params}: Request): Record<string, unknown> {
	if (!Array.isArray(params)) return params as Record<string, unknown>;
	const {entries = {}} = (declarationOf(method)?.params ?? {}) as {entries?: Record<string, unknown>};
	return Object.fromEntries(Object.keys(entries).map((name, index) => [name, params[index] as unknown]));
}

/** An object to be sent on, whose bulk a transport may have decoded on its way in. */
export function withBulk(value: unknown): JsonParts | object {
	const members = Object.entries(value as object);
	if (!members.some(([, member]) => member instanceof Uint8Array)) return value as object;
	const parts: (string | Uint8Array)[] = [];
	let text = '';
	for (const [name, member] of members) {
		if (member === undefined) continue;
		text += `${parts.length === 0 && text === '' ? '{' : ','}${JSON.stringify(name)}:`;
		if (member instanceof Uint8Array) {
			parts.push(`${text}"`, member);
			text = '"';
		} else {
			text += JSON.stringify(member);
		}
	}
	return new JsonParts([...parts, `${text}}`]);
}
