import {LONG_KEY_CHARS, MAX_DEPTH, MAX_LONG_KEYS, MAX_VALUES} from './limits.mjs';

// The kind of a message by the text of the protocol, not by the code of the server: its mistakes must not be repeated here.

/** A request is answered, a malformed message is answered with id -1, a fatal one ends the connection. */
export function classify(text) {
	const message = parsed(text);
	const raw = {};
	if (!isObject(message) || refusal(text, raw)) return {kind: 'malformed'};
	const key = idKey(message.id, raw.id);
	if (Object.hasOwn(message, 'method')) {
		const {method, params, trace} = message;
		if (typeof method !== 'string') return {kind: 'malformed'};
		if (!Object.hasOwn(message, 'id')) return {kind: method === 'initialized' ? 'initialized' : 'fatal', method};
		return key === undefined || !isTrace(trace) ? {kind: 'malformed'} : {kind: 'request', key, method, params};
	}
	const reply = Object.hasOwn(message, 'result') || isError(message.error);
	return {kind: reply && key !== undefined ? 'fatal' : 'malformed'};
}

function idKey(id, text) {
	if (typeof id === 'string') return `s${id}`;
	if (typeof id !== 'number' || text === undefined || !/^-?\d+$/.test(text)) return undefined;
	const exact = BigInt(text);
	return BigInt.asIntN(64, exact) === exact ? `n${exact}` : undefined;
}

function isTrace(trace) {
	if (trace === undefined || trace === null) return true;
	return isObject(trace) && [trace.traceparent ?? '', trace.tracestate ?? ''].every(part => typeof part === 'string');
}

function isError(error) {
	return isObject(error) && Number.isInteger(error.code) && typeof error.message === 'string';
}

/** Why the protocol refuses a text that is JSON; undefined if it does not. The text of the id is left in `raw`. */
export function refusal(text, raw = {}) {
	const open = [];
	let [values, longKeys, key] = [0, 0, ''];
	for (let at = 0; at < text.length; ) {
		const symbol = text[at];
		if (symbol === '"') {
			const end = stringEnd(text, at);
			const inside = text.slice(at + 1, end - 1);
			const string = inside.includes('\\') ? parsed(`"${inside}"`) : inside;
			if (!string.isWellFormed()) return 'half a surrogate pair';
			at = end;
			while (' \t\r\n'.includes(text[at] ?? '.')) at++;
			if (text[at] === ':') {
				key = string;
				if (key.length >= LONG_KEY_CHARS && ++longKeys > MAX_LONG_KEYS) return 'too many long keys';
				if (open.at(-1).has(key)) return `twice the key ${key}`;
				open.at(-1).add(key);
			} else {
				values++;
			}
		} else if (symbol === '{' || symbol === '[') {
			values++;
			open.push(symbol === '{' ? new Set() : undefined);
			if (open.length > MAX_DEPTH) return 'too deep';
			at++;
		} else if (symbol === '}' || symbol === ']') {
			open.pop();
			at++;
		} else if (' \t\r\n,:'.includes(symbol)) {
			at++;
		} else {
			const start = at;
			while (at < text.length && !' \t\r\n,]}'.includes(text[at])) at++;
			values++;
			if (open.length === 1 && open[0] && key === 'id') raw.id = text.slice(start, at);
		}
		if (values > MAX_VALUES) return 'too many values';
	}
	return undefined;
}

function stringEnd(text, start) {
	for (let at = text.indexOf('"', start + 1); ; at = text.indexOf('"', at + 1)) {
		let slashes = 0;
		while (text[at - 1 - slashes] === '\\') slashes++;
		if (slashes % 2 === 0) return at + 1;
	}
}

export function parsed(text) {
	// Most of what is parsed here fails, and nobody reads where.
	const {stackTraceLimit} = Error;
	Error.stackTraceLimit = 0;
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	} finally {
		Error.stackTraceLimit = stackTraceLimit;
	}
}

export function isObject(value) {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}
