import type {Readable} from 'node:stream';
import * as v from 'valibot';
import {Deferred} from '../../../shared/async/deferred.js';
import {withTimeout} from '../../../shared/async/timeout.js';
import type {RemoteCredential} from './remote-credential.js';

/** Longest line with a credential. */
const MAX_FRAME_BYTES = 16 * 1024;
const FIRST_CREDENTIAL_MS = 30_000;
const SECOND_MS = 1000;
const NEWLINE = 0x0a;
const EXPIRED = 'exec-server executor credential is expired';
const TOO_LONG = 'exec-server executor credential frame exceeds the size limit';
const INVALID = 'invalid exec-server executor credential frame';

const frameSchema = v.strictObject({
	version: v.literal(1),
	environment_id: v.string(),
	token: v.pipe(v.string(), v.regex(/^[!-~]+$/)),
	expires_at: v.number(),
});
type CredentialFrame = v.InferOutput<typeof frameSchema>;

/** The credential in use, and the beginning of the next line, as base64. */
export interface CredentialState {
	readonly frame: CredentialFrame;
	readonly rest: string;
}

/**
 * One JSON object per line: a later one replaces the token, and the end of the input is the order to stop. Settles when the first one
 * is there.
 */
export async function readCredentialFrames(
	input: Readable,
	environmentId: string,
	inherited?: CredentialState,
): Promise<RemoteCredential> {
	let current = inherited?.frame;
	let rest = Buffer.from(inherited?.rest ?? '', 'base64');
	const first = new Deferred();
	const over = new Deferred<string>();
	// A failure before the first one is told by that.
	over.promise.catch(() => {});
	if (current) first.resolve();
	const fail = (problem: string): void => {
		input.destroy();
		first.reject(new Error(problem));
		over.reject(new Error(problem));
	};
	input.on('data', (chunk: Buffer) => {
		rest = Buffer.concat([rest, chunk]);
		for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
			const frame = end > MAX_FRAME_BYTES ? TOO_LONG : readFrame(rest.toString('utf8', 0, end), environmentId);
			rest = rest.subarray(end + 1);
			if (typeof frame === 'string') return fail(frame);
			current = frame;
			first.resolve();
		}
		if (rest.length > MAX_FRAME_BYTES) fail(TOO_LONG);
	});
	const end = (): void => {
		first.reject(new Error('exec-server executor credential pipe closed'));
		over.resolve('exec-server executor credential pipe closed');
	};
	input.on('end', end);
	input.on('error', end);
	await withTimeout(first.promise, FIRST_CREDENTIAL_MS, () => {
		throw new Error('timed out waiting for the initial exec-server executor credential');
	});
	return {
		token: () => {
			if (isExpired(current!)) throw new Error(EXPIRED);
			return current!.token;
		},
		isScoped: true,
		over: over.promise,
		handOver: () => ({frame: current!, rest: rest.toString('base64')}),
	};
}

/** The credential, or what is wrong with it, in upstream's words and without quoting it. */
function readFrame(line: string, environmentId: string): CredentialFrame | string {
	let parsed: unknown;
	try {
		parsed = JSON.parse(line);
	} catch {
		return INVALID;
	}
	const {success, output} = v.safeParse(frameSchema, parsed);
	if (!success) return INVALID;
	if (output.environment_id !== environmentId) return 'exec-server executor credential is for a different environment';
	return isExpired(output) ? EXPIRED : output;
}

/** By the clock of the calendar: that is what the time in a credential is about. */
function isExpired({expires_at: seconds}: CredentialFrame): boolean {
	return seconds * SECOND_MS <= Date.now();
}
