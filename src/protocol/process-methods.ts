import {call, report} from './declare-method.js';
import {empty, unit} from './fields.js';
import * as process from './process.js';
import * as v0 from './v0.js';

/** Processes, and those of the first protocol. */
export const PROCESS_METHODS = {
	'process/start': call({
		family: 'exec',
		since: 'v1',
		params: process.startParams,
		result: process.startResult,
		summary: 'Starts a program on pipes or on a terminal.',
	}),
	'process/read': call({
		family: 'exec',
		scope: 'observe',
		since: 'v1',
		params: process.readParams,
		result: process.readResult,
		summary: 'Retained output after a cursor; can wait for more.',
	}),
	'process/write': call({
		family: 'exec',
		since: 'v1',
		params: process.writeParams,
		result: process.writeResult,
		summary: 'Bytes for the standard input, each writeId once.',
	}),
	'process/signal': call({
		family: 'exec',
		since: '2026-06',
		params: process.signalParams,
		result: empty,
		summary: 'A signal for the process group.',
	}),
	'process/terminate': call({
		family: 'exec',
		since: 'v1',
		params: process.terminateParams,
		result: process.terminateResult,
		summary: 'Ends the process and everything below it.',
	}),
	'process/closeStdin': call({
		family: 'exec',
		since: 'longarm',
		params: process.processParams,
		result: empty,
		summary: 'End of input: closes the pipe, or types the end-of-file character on a terminal.',
	}),
	'process/resize': call({
		family: 'exec',
		since: 'longarm',
		params: process.resizeParams,
		result: empty,
		summary: 'Sets the size of the terminal.',
	}),
	'process/wait': call({
		family: 'exec',
		scope: 'observe',
		since: 'longarm',
		params: process.waitParams,
		result: process.waitResult,
		summary: 'Answers when the process has exited.',
	}),
	'process/snapshot': call({
		family: 'exec',
		scope: 'observe',
		since: 'longarm',
		params: process.processParams,
		result: process.snapshotResult,
		summary: 'Head and tail of every stream, with true totals.',
	}),
	'process/list': call({
		family: 'exec',
		scope: 'observe',
		since: 'longarm',
		params: unit,
		result: process.listResult,
		summary: 'Every process of the session and what runs below it.',
	}),
	'process/output': report({
		family: 'exec',
		since: 'v1',
		params: process.outputParams,
		summary: 'A chunk of output.',
	}),
	'process/exited': report({
		family: 'exec',
		since: 'v1',
		params: process.exitedParams,
		summary: 'The process has ended; output may still follow.',
	}),
	'process/closed': report({
		family: 'exec',
		since: 'v1',
		params: process.closedParams,
		summary: 'The process has ended and so has all its output; always the last event.',
	}),

	'command/exec': call({
		family: 'exec',
		since: 'v0',
		params: v0.execParams,
		result: v0.execResult,
		summary: 'First protocol: starts a program that ends with the connection.',
	}),
	'command/exec/write': call({
		family: 'exec',
		since: 'v0',
		params: v0.execWriteParams,
		result: v0.execWriteResult,
		summary: 'First protocol: bytes for a terminal.',
	}),
	'command/exec/terminate': call({
		family: 'exec',
		since: 'v0',
		params: v0.execTerminateParams,
		result: v0.execTerminateResult,
		summary: 'First protocol: ends a program.',
	}),
	'command/exec/outputDelta': report({
		family: 'exec',
		since: 'v0',
		params: v0.outputDeltaParams,
		summary: 'First protocol: a chunk of output.',
	}),
	'command/exec/exited': report({
		family: 'exec',
		since: 'v0',
		params: v0.execExitedParams,
		summary: 'First protocol: the program has ended; output may still follow.',
	}),
} as const;
