import {call} from './model.mjs';

/** The smallest window that the client gives a poll; one ends earlier when the command does. */
const POLL_MS = 5000;

/** A call of the tool that runs a command. */
export function runCommand(cmd, options = {}) {
	return call('exec_command', {cmd, ...options});
}

/** A call of the tool that types into a session. */
export function typeInto(sessionId, chars, options = {}) {
	return call('write_stdin', {session_id: sessionId, chars, ...options});
}

/** A call that only looks at a session. */
export function poll(sessionId, yieldMs = POLL_MS) {
	return call('write_stdin', {session_id: sessionId, yield_time_ms: yieldMs});
}

/**
 * Makes a call in a script and polls until the output is enough, by default until the command has ended. How much fits
 * into the first window is up to the machine: the answers are put together.
 */
export async function* follow(made, isEnough = () => false) {
	return yield* followOn(yield [made], made, isEnough);
}

/** The same for a call that was made in a turn already. */
export async function* followOn(turn, made, isEnough = () => false) {
	let last = turn;
	const text = turn.output(made);
	const seen = {text, output: outputOf(text), sessionId: sessionOf(text), exitCode: exitCodeOf(text)};
	while (seen.sessionId !== undefined && seen.exitCode === undefined && !isEnough(seen.output)) {
		const again = poll(seen.sessionId);
		last = yield [again];
		const more = last.output(again);
		seen.output += outputOf(more);
		seen.exitCode = exitCodeOf(more);
		if (sessionOf(more) === undefined) break;
	}
	return {...seen, turn: last};
}

/** The number of a session that runs. */
export function sessionOf(text) {
	return numberIn(/session ID (\d+)/, text);
}

export function exitCodeOf(text) {
	return numberIn(/exited with code (-?\d+)/, text);
}

/** Finds a tool the client offered to the model, also inside a namespace. */
export function findTool(tools, pattern) {
	for (const tool of tools) {
		if (tool.type === 'namespace') {
			const inner = findTool(tool.tools, pattern);
			if (inner) return {...inner, namespace: tool.name};
		} else if (pattern.test(tool.name ?? '')) return {name: tool.name};
	}
	return undefined;
}

/** One line, for a note. */
export function brief(text, length = 120) {
	return String(text).replace(/\s+/g, ' ').slice(0, length);
}

function outputOf(text = '') {
	const at = text.indexOf('Output:\n');
	return at < 0 ? '' : text.slice(at + 'Output:\n'.length);
}

function numberIn(pattern, text = '') {
	const found = pattern.exec(text);
	return found ? Number(found[1]) : undefined;
}
