import {posix} from 'node:path';
import {toPathUri} from '../../../../client/paths.js';
import type {ProcessHandle} from '../../../../client/process/process-handle.js';
import {ProtocolError} from '../../../../client/session/client-errors.js';
import type {Environment} from '../../../../environments/environment.js';
import type {EnvironmentInfo} from '../../../../protocol/methods/environment-methods.js';
import {PathUriError} from '../../../../protocol/path-uri/path-uri.js';
import {usageError} from '../../../exit-codes.js';
import {explainFailedStart, type FailedStart} from './failed-start.js';
import type {InputKind} from './intake.js';
import type {OwnTerminal} from './own-terminal.js';
import type {Can} from './process-control.js';

export interface AttachedCommand {
	/** The shell of the executor when nothing is given. */
	readonly argv: readonly string[];
	/** Relative to the executor's own, which is the default. */
	readonly cwd: string | undefined;
	readonly env: Readonly<Record<string, string>>;
	/** Whether it runs on a terminal. */
	readonly tty: boolean;
	readonly timeoutMs?: number | undefined;
}

/** What has to be known of an executor before something is started there. */
export interface EnvironmentFacts {
	readonly can: Can;
	readonly cwd: string;
	/** The login shell. */
	shell(): Promise<string>;
	/** An input that could never be closed is better not opened when nothing is in it. */
	passesInput(kind: InputKind): boolean;
}

/** Asks the executor; this machine need not be asked. */
export async function readEnvironmentFacts(environment: Environment): Promise<EnvironmentFacts> {
	if (environment.kind === 'local') {
		const shell = async (): Promise<string> => (await environment.info()).shell.path;
		return {can: () => true, cwd: process.cwd(), shell, passesInput: () => true};
	}
	const info = await infoIfKnown(environment);
	const can: Can = capability => info?.capabilities?.[capability] === true;
	return {
		can,
		cwd: (info?.cwd && toPathUri(info.cwd).toNativeString('posix')) ?? '/',
		shell: async () => info?.shell.path ?? '/bin/sh',
		passesInput: kind => kind !== 'nothing' || can('processCloseStdin'),
	};
}

async function infoIfKnown(environment: Environment): Promise<EnvironmentInfo | undefined> {
	try {
		return await environment.info();
	} catch (error) {
		// An older one cannot describe itself.
		if (error instanceof ProtocolError) return undefined;
		throw error;
	}
}

export interface StartContext {
	readonly place: EnvironmentFacts;
	readonly terminal: OwnTerminal | undefined;
	readonly inputKind: InputKind;
}

/** Starts the command, in whatever way the executor has; one that is not there or not executable is no error of ours. */
export async function startAttached(
	environment: Environment,
	command: AttachedCommand,
	{place, terminal, inputKind}: StartContext,
): Promise<{readonly process: ProcessHandle} | FailedStart> {
	const {env, tty} = command;
	const argv = command.argv.length > 0 ? command.argv : [await place.shell(), '-l'];
	const cwd = directoryIn(place.cwd, command.cwd);
	try {
		const process = await environment.start(argv, {
			cwd,
			env,
			tty: terminal && place.can('processIo') ? terminal.size : tty,
			stdin: place.passesInput(inputKind),
			holdsBack: true,
		});
		return {process};
	} catch (error) {
		const explained = await explainFailedStart(error, {
			program: argv[0]!,
			cwd: toPathUri(cwd).toNativeString('posix') ?? cwd,
			environment,
		});
		if (explained) return explained;
		throw error;
	}
}

function directoryIn(own: string, given: string | undefined): string {
	if (given === undefined) return own;
	const path = /^(?:\/|file:|[A-Za-z]:[\\/]|\\\\)/.test(given) ? given : posix.join(own, given);
	try {
		return toPathUri(path).href;
	} catch (error) {
		if (!(error instanceof PathUriError)) throw error;
		throw usageError(`--cwd ${given}: ${error.message}`);
	}
}
