import * as v from 'valibot';
import {bytes, optionalField, pathUri, stringMap} from '../wire/fields.js';
import {clientRequest, serverNotification} from './declare-method.js';

/** The first protocol, in which a session is one process and the server names it. */
export const V0_VERSION = 'exec-server.v0';

const sessionId = v.string();

const execParams = v.object({
	argv: v.array(v.string()),
	cwd: pathUri,
	env: stringMap,
	tty: v.boolean(),
	arg0: optionalField(v.string()),
});
const execResult = v.object({sessionId});
const execWriteParams = v.object({sessionId, chunk: bytes});
const execWriteResult = v.object({accepted: v.boolean()});
const execTerminateParams = v.object({sessionId});
const execTerminateResult = v.object({running: v.boolean()});
const outputDeltaParams = v.object({sessionId, stream: v.picklist(['stdout', 'stderr']), chunk: bytes});
const execExitedParams = v.object({sessionId, exitCode: v.number()});

/** Processes of the first protocol, which end with their connection. */
export const V0_METHODS = {
	'command/exec': clientRequest({
		family: 'exec',
		since: 'v0',
		params: execParams,
		result: execResult,
		summary: 'First protocol: starts a program that ends with the connection.',
	}),
	'command/exec/write': clientRequest({
		family: 'exec',
		since: 'v0',
		params: execWriteParams,
		result: execWriteResult,
		summary: 'First protocol: bytes for a terminal.',
	}),
	'command/exec/terminate': clientRequest({
		family: 'exec',
		since: 'v0',
		params: execTerminateParams,
		result: execTerminateResult,
		summary: 'First protocol: ends a program.',
	}),
	'command/exec/outputDelta': serverNotification({
		family: 'exec',
		since: 'v0',
		params: outputDeltaParams,
		summary: 'First protocol: a chunk of output.',
	}),
	'command/exec/exited': serverNotification({
		family: 'exec',
		since: 'v0',
		params: execExitedParams,
		summary: 'First protocol: the program has ended; output may still follow.',
	}),
} as const;
