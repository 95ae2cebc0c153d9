// Linux only: keepers are found by /proc, and started by the native backend.
import {realpathSync} from 'node:fs';
import type {Backend, Child} from '../../processes/backends/backend.js';
import {Deferred} from '../../shared/async/deferred.js';
import {withTimeout} from '../../shared/async/timeout.js';
import {LongarmError} from '../../shared/errors.js';
import {StderrTail} from '../../shared/stderr-tail.js';
import type {ServerSettings} from '../options.js';
import {makeKeepersDirectory} from './keeper-record.js';
import {encodeKeeperSettings} from './keeper-settings.js';

/** Name of the hidden command. */
export const KEEPER_COMMAND = 'keeper';
/** Line of a keeper that can be connected to and is out of reach of the watchdog of its server. */
export const KEEPER_READY = 'ready';
/** How long a keeper may take to be ready. */
const START_TIMEOUT_MS = 30_000;
const MAX_STDERR_CHARS = 2000;
/** The only variables of the server that the program itself gets; children get theirs from the settings. */
const VARIABLES = ['PATH', 'HOME', 'TMPDIR', 'LANG'];
/** Memory is what a keeper costs: it is idle most of the time, and moves bytes for the rest of it. */
const NODE_FLAGS = ['--max-semi-space-size=1', '--single-threaded-gc', '--v8-pool-size=0'];

export interface LaunchPlace {
	readonly stateDirectory: string;
	readonly generation: string;
}

export interface LaunchedKeeper {
	readonly pid: number;
	/** Settles when it has ended, as long as this server is its parent. */
	readonly ended: Promise<void>;
}

/** Starts a keeper; settles when it outlives this server. Throws NOT_SUPPORTED where that cannot be had. */
export async function launchKeeper(
	settings: ServerSettings,
	backend: Backend,
	place: LaunchPlace,
): Promise<LaunchedKeeper> {
	if (!backend.spawnLasting) throw keeperError('this executor cannot start programs that outlive it');
	const [program, ...own] = settings.ownCommand.map(word => realpathSync(word));
	if (program === undefined) throw keeperError('this executor does not know the command that starts it');
	makeKeepersDirectory(place.stateDirectory);
	const ready = new Deferred();
	const ended = new Deferred();
	const stderr = new StderrTail(MAX_STDERR_CHARS);
	let stdout = '';
	const variables = VARIABLES.flatMap((name): [string, string][] => {
		const value = settings.variables[name];
		return value === undefined ? [] : [[name, value]];
	});
	const child = backend.spawnLasting(
		{
			file: program,
			argv: [program, ...NODE_FLAGS, ...own, KEEPER_COMMAND],
			cwd: Buffer.from('/'),
			environment: new Map(variables),
		},
		{
			output: (stream, bytes) => {
				const text = Buffer.from(bytes).toString();
				if (stream === 'stderr') stderr.push(text);
				else stdout += text;
				if (stdout.includes(`${KEEPER_READY}\n`)) ready.resolve();
			},
			streamEnded: () => {},
			exited: () => {
				child.drainAndClose();
				ended.resolve();
				setImmediate(() => ready.reject(keeperError(`the keeper ended at once: ${stderr.text.trim()}`)));
			},
		},
	);
	ready.promise.catch(() => {});
	await sendSettings(child, encodeKeeperSettings(settings, {...place, groupPath: backend.groupPath}));
	await withTimeout(ready.promise, START_TIMEOUT_MS, () => {
		child.signal('SIGKILL');
		throw keeperError(`the keeper is not ready after ${START_TIMEOUT_MS} ms`);
	});
	child.drainAndClose();
	return {pid: child.pid, ended: ended.promise};
}

function sendSettings({stdin}: Child, line: string): Promise<void> {
	return new Promise(resolve => {
		stdin!.write(Buffer.from(line), resolve);
		stdin!.end();
	});
}

export function keeperError(message: string): LongarmError {
	return new LongarmError('NOT_SUPPORTED', {message: `durable processes are not possible: ${message}`});
}
