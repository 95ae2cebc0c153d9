// Assertions whose messages always read "what: expected X, got Y".
import {inspect, isDeepStrictEqual} from 'node:util';

const show = value => {
	const text = inspect(value, {depth: 5, breakLength: Infinity, maxStringLength: 160});
	return text.length > 400 ? `${text.slice(0, 400)}…` : text;
};

export function equal(actual, expected, what = 'value') {
	if (!isDeepStrictEqual(actual, expected)) throw new Error(`${what}: expected ${show(expected)}, got ${show(actual)}`);
}

export function ok(value, what) {
	if (!value) throw new Error(`expected ${what}`);
}

export function match(actual, pattern, what = 'text') {
	if (!pattern.test(actual)) throw new Error(`${what}: expected to match ${pattern}, got ${show(actual)}`);
}

export function oneOf(actual, expected, what = 'value') {
	if (!expected.some(item => isDeepStrictEqual(actual, item))) {
		throw new Error(`${what}: expected one of ${show(expected)}, got ${show(actual)}`);
	}
}

/** Checks the code, and the message where given: a string must be equal, a pattern must match. */
export function isError(error, code, message) {
	if (error.code !== code) throw new Error(`error code: expected ${code}, got ${error.code} (${show(error.message)})`);
	if (typeof message === 'string') equal(error.message, message, 'error message');
	else if (message) match(error.message, message, 'error message');
}
