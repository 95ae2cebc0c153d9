import * as v from 'valibot';
import {bytes, optionalField, pathUri, stringMap} from '../wire/fields.js';

/** The first protocol, in which a session is one process and the server names it. */
export const V0_VERSION = 'exec-server.v0';

const sessionId = v.string();

export const execParams = v.object({
	argv: v.array(v.string()),
	cwd: pathUri,
	env: stringMap,
	tty: v.boolean(),
	arg0: optionalField(v.string()),
});
export const execResult = v.object({sessionId});
export const execWriteParams = v.object({sessionId, chunk: bytes});
export const execWriteResult = v.object({accepted: v.boolean()});
export const execTerminateParams = v.object({sessionId});
export const execTerminateResult = v.object({running: v.boolean()});
export const outputDeltaParams = v.object({sessionId, stream: v.picklist(['stdout', 'stderr']), chunk: bytes});
export const execExitedParams = v.object({sessionId, exitCode: v.number()});
