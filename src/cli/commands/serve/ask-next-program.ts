import type {Backend, Child} from '../../../processes/backends/backend.js';
import {killTree} from '../../../processes/tree/kill-tree.js';
import {Deferred} from '../../../shared/async/deferred.js';
import {withTimeout} from '../../../shared/async/timeout.js';
import {LongarmError} from '../../../shared/errors.js';
import {HANDOFF_VERSION} from '../../../shared/node/handoff-file.js';
import {StderrTail} from '../../../shared/stderr-tail.js';
import {handoffAnswer} from './check-handoff.js';

/** Time the next program has to answer. */
export const MAX_ANSWER_MS = 10_000;
/** Output of it that is looked at. */
const MAX_OUTPUT_CHARS = 4096;

/** The command line of a server. */
export interface ServeCommand {
	readonly file: string;
	/** Name, options of the runtime and path of the program. */
	readonly program: readonly string[];
	/** `serve` and its options. */
	readonly words: readonly string[];
}

/** Starts the program that is to take the place of this one, once, as a child, and throws unless it agrees to. */
export async function askNextProgram(
	backend: Backend,
	{file, program, words}: ServeCommand,
	maxMs = MAX_ANSWER_MS,
): Promise<void> {
	const stdout = new StderrTail(MAX_OUTPUT_CHARS);
	const stderr = new StderrTail(MAX_OUTPUT_CHARS);
	const exited = new Deferred<number>();
	const ended = new Deferred();
	const open = new Set(['stdout', 'stderr']);
	const child = await backend.spawn(
		{
			file,
			argv: [...program, '--check-handoff', String(HANDOFF_VERSION), ...words],
			cwd: Buffer.from(process.cwd()),
			environment: new Map(Object.entries(process.env) as [string, string][]),
			io: {kind: 'pipes', stdin: false},
		},
		{
			output: (stream, bytes) => (stream === 'stdout' ? stdout : stderr).push(Buffer.from(bytes).toString()),
			streamEnded: stream => {
				open.delete(stream);
				if (open.size === 0) ended.resolve();
			},
			exited: ({exitCode}) => exited.resolve(exitCode),
		},
	);
	const outcome = Promise.all([exited.promise, ended.promise]);
	const [exitCode] = await withTimeout(outcome, maxMs, () => giveUp(child, maxMs));
	if (exitCode === 0 && stdout.text.trim() === handoffAnswer(HANDOFF_VERSION)) return;
	const said = findReason(stderr.text.trim() || stdout.text.trim());
	throw new LongarmError('UPGRADE_FAILED', {
		message: `${program.at(-1)} does not take over: it ended with ${exitCode} and said \`${said}\``,
		context: {program: program.at(-1), exitCode},
		hint: 'The message says what the new program answered; the server goes on as before.',
	});
}

/** The line that names an error, else the first one: a program that crashes prints its place in the source first. */
function findReason(text: string): string {
	const lines = text.split('\n');
	return lines.find(line => /^\s*(?:\w*Error|error)\b/.test(line))?.trim() ?? lines[0]!;
}

function giveUp(child: Child, maxMs: number): never {
	killTree(child);
	child.drainAndClose();
	throw new LongarmError('UPGRADE_FAILED', {message: `the next program did not answer within ${maxMs} ms`});
}
