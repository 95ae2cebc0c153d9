import {constants} from 'node:os';
import type {TerminationMode} from '../processes/termination.js';
import type {Params} from '../protocol/methods/method-table.js';
import {LongarmError} from '../shared/errors.js';

/** Converts the wire form of a signal; throws `SIGNAL_UNKNOWN`. */
export function toSignal(signal: Params<'process/signal'>['signal']): NodeJS.Signals {
	if (signal === 'interrupt') return 'SIGINT';
	const name = signal.name.toUpperCase();
	const full = name.startsWith('SIG') ? name : `SIG${name}`;
	if (Object.hasOwn(constants.signals, full)) return full as NodeJS.Signals;
	throw new LongarmError('SIGNAL_UNKNOWN', {message: `unknown signal ${signal.name}`, context: {signal: signal.name}});
}

/** Converts the wire form of a termination mode; undefined if the caller named none. */
export function toTerminationMode(mode: Params<'process/terminate'>['mode']): TerminationMode | undefined {
	if (!mode) return undefined;
	if (mode === 'force') return {kind: 'force'};
	return {kind: 'graceful', timeoutMs: mode.graceful.timeoutMs};
}

export function noTerminalError(processId: string): LongarmError {
	return new LongarmError('NO_TERMINAL', {message: `process ${processId} has no terminal`, context: {processId}});
}
