import {closeSync, constants, openSync} from 'node:fs';
import {close as closeInspector, url as inspectorUrl} from 'node:inspector';
import type {Logger} from '../../../shared/logger.js';
import {EXIT} from '../../exit-codes.js';

/** Signals that end the server. An `abort()` of the program itself ends it all the same: the C library sees to that. */
const ENDING = ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGABRT', 'SIGXCPU'] as const satisfies NodeJS.Signals[];
/** Signals without a meaning here that would end a program, or, SIGUSR1, open Node's debugger to this machine. */
const IGNORED = ['SIGUSR1', 'SIGALRM', 'SIGVTALRM', 'SIGIO', 'SIGPWR', 'SIGSTKFLT'] as const;
/** Node's profiler needs it. */
const PROFILER_SIGNAL = 'SIGPROF';
/** Throttle: whoever may send a signal may send millions. */
const LOG_INTERVAL_MS = 1000;
const INSPECTOR_FLAG = /^--inspect(?:-brk|-wait)?(?:=|$)/;
const PROFILER_FLAG = /^--(?:cpu-)?prof/;

export interface SignalActions {
	readonly logger: Logger;
	/** Ends all processes at once. */
	readonly kill: () => void;
	/** Action of SIGHUP; undefined where there is nothing to reload. */
	readonly reload: (() => void) | undefined;
	/** Action of SIGUSR2, which only the server's own user and root may send. Settles if the server goes on. */
	readonly upgrade: () => Promise<void>;
}

/**
 * Handles every signal that can be handled: one that does something is logged by its name, the others do nothing. Settles
 * with the first that ends the server; the second ends it at once.
 */
export function waitForSignal({logger, kill, reload, upgrade}: SignalActions): Promise<NodeJS.Signals> {
	const hadTerminal = hasControllingTerminal();
	logStops(logger);
	const ignored = hasFlag(PROFILER_FLAG) ? IGNORED : ([...IGNORED, PROFILER_SIGNAL] as const);
	for (const signal of ignored) listen(signal, logOften(logger, 'signal ignored', signal));
	listenForUpgrade(upgrade, logger);
	return new Promise(resolve => {
		let asked = false;
		const end = (signal: NodeJS.Signals): void => {
			if (asked) {
				logger.warn('asked again, ending at once', {signal});
				kill();
				process.exit(EXIT.ok);
			}
			asked = true;
			resolve(signal);
		};
		for (const signal of ENDING) listen(signal, () => end(signal));
		const logNothing = logOften(logger, 'there is nothing to reload', 'SIGHUP');
		listen('SIGHUP', () => {
			const isHangup = hadTerminal && (!reload || !hasControllingTerminal());
			if (isHangup) end('SIGHUP');
			else (reload ?? logNothing)();
		});
	});
}

/** A terminal that was closed is no longer there when its SIGHUP is handled. */
function hasControllingTerminal(): boolean {
	if (process.platform === 'win32') return true;
	try {
		closeSync(openSync('/dev/tty', constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK));
		return true;
	} catch {
		return false;
	}
}

/** Closes a debugger that a signal opened before there was a handler for it. */
export function closeUninvitedInspector(logger: Logger): void {
	if (!process.features.inspector || hasFlag(INSPECTOR_FLAG) || inspectorUrl() === undefined) return;
	closeInspector();
	logger.warn('closed the debugger that SIGUSR1 had opened while the program was loaded');
}

/** A stop cannot be noticed, and SIGSTOP not be refused, but that it is over can. */
function logStops(logger: Logger): void {
	listen('SIGCONT', logOften(logger, 'continued: the server may have been stopped until now', 'SIGCONT'));
}

/** One at a time: a signal that comes while an upgrade is prepared does nothing. */
function listenForUpgrade(upgrade: () => Promise<void>, logger: Logger): void {
	const logBusy = logOften(logger, 'signal ignored: an upgrade is being prepared', 'SIGUSR2');
	let isUnderWay = false;
	const begin = async (): Promise<void> => {
		isUnderWay = true;
		await upgrade();
		isUnderWay = false;
	};
	listen('SIGUSR2', () => {
		if (isUnderWay) logBusy();
		else void begin();
	});
}

function logOften(logger: Logger, message: string, signal: NodeJS.Signals): () => void {
	let loggedAt = Number.NEGATIVE_INFINITY;
	return () => {
		const now = performance.now();
		if (now - loggedAt < LOG_INTERVAL_MS) return;
		loggedAt = now;
		logger.warn(message, {signal});
	};
}

function listen(signal: NodeJS.Signals, handle: () => void): void {
	try {
		process.on(signal, handle);
	} catch {
		// Not every system has each of them.
	}
}

function hasFlag(flag: RegExp): boolean {
	const options = process.env['NODE_OPTIONS']?.split(' ') ?? [];
	return [...process.execArgv, ...options].some(each => flag.test(each));
}
