import {createHash, randomUUID} from 'node:crypto';
import {existsSync, mkdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import type {ExecEnvironment} from '../../src/agent-tools/exec-environment.js';
import {DEFAULT_ENV} from '../../src/agent-tools/exec-variables.js';
import {UnifiedExec} from '../../src/agent-tools/unified-exec.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {telling} from './environments.js';
import {HeldWindows} from './held-windows.js';
import {exceptionFor, RECORDED_SEARCH_PATH} from './replay-exceptions.js';

/** Calls recorded from the peers' own client. */
const VECTORS = new URL('../vectors/unified-exec-vectors.json', import.meta.url);

/** Whatever the shell of the user is who runs this. */
const RECORDED_SHELL = {name: 'bash', path: '/bin/bash'};
/** More than usual: how soon the last output follows an exit is up to the machine, and the recording has all of it. */
const CLOSE_GRACE_MS = 1000;

export interface RecordedCall {
	readonly env: 'local' | 'remote';
	/** Which step of the recorded conversation, and which call of those made at once. */
	readonly call: string;
	readonly tool: string;
	readonly arguments: string | Record<string, unknown>;
	readonly wallSeconds?: number;
	readonly text?: string;
	readonly header?: string;
	readonly body?: {readonly sha256: string};
}

/** One call, then and now. */
export interface ReplayedCall {
	readonly name: string;
	readonly expected: string;
	readonly got: string;
	/** Reason why another answer than the recorded one is expected. */
	readonly reason: string | undefined;
	/** For a call that returned while its command ran on: how long it had to wait, and how long it did. */
	readonly window: {readonly recordedMs: number; readonly askedMs: number; readonly waitedMs: number} | undefined;
}

export interface ReplayMode {
	readonly strictCompat: boolean;
	readonly isStock: boolean;
}

/** Repeats every recorded call in an environment, the recorded conversations side by side. */
export async function replay(environment: ExecEnvironment, mode: ReplayMode): Promise<ReplayedCall[]> {
	const {vectors} = JSON.parse(readFileSync(VECTORS, 'utf8')) as {vectors: RecordedCall[]};
	const conversations: RecordedCall[][] = [];
	for (const vector of vectors) {
		if (vector.call === '0-0') conversations.push([]);
		conversations.at(-1)!.push(vector);
	}
	const all = await Promise.all(
		conversations.map((calls, index) => new Conversation(environment, mode, index).run(calls)),
	);
	return all.flat();
}

const THREAD = randomUUID();

class Conversation {
	readonly #index: number;
	readonly #mode: ReplayMode;
	readonly #environment: ExecEnvironment;
	readonly #places = {cwd: scratchDirectory(), install: installation()};
	/** A file: commands do not end before it is there. */
	readonly #gate = join(this.#places.cwd, '.gate');
	/** The session that was told of last, which is the one recorded calls mean. */
	#session = 1;
	/** Output since the last answer, and who waits for it. */
	#said = '';
	#onOutput = () => {};

	constructor(environment: ExecEnvironment, mode: ReplayMode, index: number) {
		this.#environment = environment;
		this.#mode = mode;
		this.#index = index;
	}

	async run(calls: readonly RecordedCall[]): Promise<ReplayedCall[]> {
		await using exec = new UnifiedExec({
			environment: telling(this.#environment, {cwd: pathToFileURL(this.#places.cwd).href, shell: RECORDED_SHELL}),
			modelPolicy: {bytes: 10_000},
			loginShells: false,
			closeGraceMs: CLOSE_GRACE_MS,
			strictCompat: this.#mode.strictCompat,
			threadId: THREAD,
			sessionId: THREAD,
			envPolicy: {inherit: 'none'},
			env: {...DEFAULT_ENV, ...recordedVariables(calls[0]!.env, this.#places.install)},
			onEvent: event => {
				if (event.kind !== 'outputDelta') return;
				this.#said += Buffer.from(event.bytes).toString();
				this.#onOutput();
			},
		});
		const results: ReplayedCall[] = [];
		for (const step of stepsOf(calls)) {
			results.push(...(await Promise.all(step.map(recorded => this.#repeat(exec, recorded)))));
		}
		return results;
	}

	async #repeat(exec: UnifiedExec, recorded: RecordedCall): Promise<ReplayedCall> {
		const args = this.#argumentsOf(recorded);
		const session = this.#session;
		const conversation = `${recorded.env} ${this.#index}`;
		const name = `${conversation}, call ${recorded.call}: ${recorded.tool} ${JSON.stringify(recorded.arguments)}`;
		const exception = exceptionFor(conversation, recorded.call, {
			isRemote: this.#environment.kind === 'remote',
			...this.#mode,
		});
		const expected = exception?.text ?? this.#expectedText(recorded);
		const windows = this.#windowsFor(recorded.tool, expected);
		const answered = await windows.run(() => exec.call(recorded.tool, args, {callId: `call-${recorded.call}`}));
		this.#said = '';
		const {session_id: told, wall_time_seconds: wallSeconds = 0} = answered.structured ?? {};
		if (told !== undefined) this.#session = told;
		const got = this.#normalised(answered.text, told ?? session);
		return {
			name,
			expected: countless(expected, recorded),
			got: countless(recorded.body ? withHashedBody(got) : got, recorded),
			reason: exception?.reason,
			window: isRunning(expected)
				? {recordedMs: windowOf(recorded), askedMs: windows.longestMs, waitedMs: wallSeconds * 1000}
				: undefined,
		};
	}

	/**
	 * The windows of a call, held until what the recorded one contained is there: all of the expected output, or the end
	 * of the command, which the gate keeps from coming before a call that tells it.
	 */
	#windowsFor(tool: string, expected: string): HeldWindows {
		const windows = new HeldWindows();
		if (tool === 'exec_command') rmSync(this.#gate, {force: true});
		if (isRunning(expected)) {
			this.#onOutput = () => {
				if (this.#said.length >= bodyOf(expected).length) windows.release();
			};
			this.#onOutput();
		} else writeFileSync(this.#gate, '');
		return windows;
	}

	#argumentsOf({arguments: args, call}: RecordedCall): string | Record<string, unknown> {
		if (typeof args === 'string') return args;
		// The place in the message says that this one was sent with a blank.
		if ('cm' in args && call === '17-0') return '{"cm": 1}';
		if (args['session_id'] === '<session>') return {...args, session_id: this.#session};
		return typeof args['cmd'] === 'string' ? {...args, cmd: this.#gated(args['cmd'])} : args;
	}

	/** Sleeps that a recorded window cut end at the gate: how long a slow machine takes for the call does not matter. */
	#gated(command: string): string {
		const wait = `until test -e '${this.#gate}'; do sleep 0.05; done`;
		return command
			.replace(/\bsleep [13];/, `${wait};`)
			.replace('sleep 0.2;', `if test $i -lt 4; then sleep 0.2; else ${wait}; fi;`);
	}

	/** A rejected start names the exec server only in a remote environment. */
	#expectedText({text, header, body}: RecordedCall): string {
		if (body) return `${header}sha256 ${body.sha256}`;
		const plain = text!.replace('exec-server rejected request (-32603): ', '');
		if (this.#environment.kind !== 'remote') return plain;
		return plain.replace('unified exec process: ', '$&exec-server rejected request (-32603): ');
	}

	#normalised(text: string, session: number): string {
		return (
			text
				.replace(/^Chunk ID: [\da-f]{6}$/m, 'Chunk ID: <chunk>')
				.replace(/^Wall time: \d+\.\d{4} seconds$/m, 'Wall time: <wall> seconds')
				.replace(`session ID ${session}\n`, 'session ID <session>\n')
				.replace(new RegExp(`process id ${session}$`), 'process id <session>')
				.replace(/\/dev\/pts\/\d+/, '/dev/pts/0')
				.replaceAll(THREAD, '<uuid>')
				.replaceAll(this.#places.install, '<install>')
				.replaceAll(this.#places.cwd, '<cwd>')
				// The recording lost the carriage return there.
				.replace('CODEX_MANAGED_PACKAGE_ROOT=<install>\r\n', 'CODEX_MANAGED_PACKAGE_ROOT=<install>\n')
		);
	}
}

/** Calls made at once share the first number. */
function stepsOf(calls: readonly RecordedCall[]): RecordedCall[][] {
	const steps = new Map<string, RecordedCall[]>();
	for (const recorded of calls) {
		const step = recorded.call.split('-')[0]!;
		steps.set(step, [...(steps.get(step) ?? []), recorded]);
	}
	return [...steps.values()];
}

function withHashedBody(text: string): string {
	const at = text.indexOf('Output:\n') + 'Output:\n'.length;
	return `${text.slice(0, at)}sha256 ${createHash('sha256').update(text.slice(at)).digest('hex')}`;
}

/** Paths of the recorded machine are placeholders of another length, so the size of output with one is unknown. */
function countless(text: string, {text: recorded = ''}: RecordedCall): string {
	const namesPlaces = /<(?:home|install|uuid|cwd)>/.test(recorded);
	return namesPlaces ? text.replace(/^Original token count: \d+$/m, 'Original token count: <count>') : text;
}

/** Variables of a command that were set by the recorded client and not by this layer. */
function recordedVariables(env: RecordedCall['env'], install: string): Record<string, string> {
	return {
		CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS: '1',
		CODEX_HOME: '<home>',
		CODEX_MANAGED_BY_NPM: '1',
		CODEX_MANAGED_PACKAGE_ROOT: install,
		CODEX_VERSION: '0.166.0',
		HOME: '<home>',
		PATH: env === 'local' ? `${install}:${RECORDED_SEARCH_PATH}` : RECORDED_SEARCH_PATH,
		...(env === 'local' && {CODEX_API_KEY: 'dummy'}),
	};
}

/** A directory with the peers' name in it, and a stand-in for the one program of the recording that not every machine has. */
function installation(): string {
	const directory = join(scratchDirectory(), 'codex');
	mkdirSync(directory);
	if (existsSync('/usr/bin/python3')) return directory;
	const script = `#!/bin/sh\nexec '${process.execPath}' -e 'console.log("é".repeat(5000))'\n`;
	writeFileSync(join(directory, 'python3'), script, {mode: 0o755});
	return directory;
}

function isRunning(text: string): boolean {
	return text.includes('Process running with session ID');
}

/** Wait of the recorded call, without the fraction it needed for itself. */
function windowOf({wallSeconds = 0}: RecordedCall): number {
	return Math.floor(wallSeconds * 100) * 10;
}

function bodyOf(text: string): string {
	return text.slice(text.indexOf('Output:\n') + 'Output:\n'.length);
}
