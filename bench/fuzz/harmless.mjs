import {MAX_KEEP_MS} from './limits.mjs';
import {STARTS} from './methods.mjs';
import {KNOWN_ARG0, KNOWN_COMMANDS, KNOWN_FILES} from './params.mjs';

/**
 * Whether the machine takes no harm from a message, however it was mutated: only known commands, nothing that could be
 * a path beyond the scratch directory in a request about files, and nothing at all to be fetched.
 */
export function isHarmless({kind, method, params}) {
	if (kind !== 'request') return true;
	if (/^(?:fs|http|capab|network)/i.test(method)) return everyString(params, text => isKnownFile(text, method));
	if (/^forward/i.test(method)) return everyNumber(params, port => !(port > 1)) && everyString(params, isNoHost);
	if (!STARTS.has(method)) return true;
	return everyContainer(params, container => {
		if (Array.isArray(container)) return !isStrings(container) || isHarmlessCommand(container);
		const {arg0 = '', keepForMs, shell} = container;
		const keptForLong = typeof keepForMs === 'number' && keepForMs > MAX_KEEP_MS;
		return (KNOWN_ARG0.has(arg0) || !isWord(arg0)) && !keptForLong && shell === undefined;
	});
}

function isKnownFile(text, method) {
	return (KNOWN_FILES.has(text) && !method.startsWith('http')) || !/[/:]/.test(text);
}

/** Base64 and ids only: a name with a dot or a colon could be another machine. */
function isNoHost(text) {
	return !/[.:]|localhost/i.test(text);
}

function isHarmlessCommand(argv) {
	const [program, ...rest] = argv;
	if (program === '/bin/true' || program === 'true') return true;
	if (/^[A-Z_*?]*$/.test(program) && program !== '' && rest.every(text => /^[A-Z_*?]*$/.test(text))) return true;
	return KNOWN_COMMANDS.has(argv.join('\0')) || !isWord(program);
}

/** Whether it could be a command. */
function isStrings(list) {
	return list.length > 0 && list.every(each => typeof each === 'string');
}

/** Whether it could be the name of a program. */
function isWord(text) {
	return typeof text === 'string' && /^[!-~]{1,200}$/.test(text);
}

function everyString(value, test) {
	if (typeof value === 'string') return test(value);
	return typeof value !== 'object' || value === null || Object.values(value).every(each => everyString(each, test));
}

function everyNumber(value, test) {
	if (typeof value === 'number') return test(value);
	return typeof value !== 'object' || value === null || Object.values(value).every(each => everyNumber(each, test));
}

function everyContainer(value, test) {
	if (typeof value !== 'object' || value === null) return true;
	return test(value) && Object.values(value).every(each => everyContainer(each, test));
}
