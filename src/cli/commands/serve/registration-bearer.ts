import type {Readable} from 'node:stream';

/** Longest line with a bearer, its newline included. */
const MAX_BEARER_LINE_BYTES = 16 * 1024;
const NEWLINE = 0x0a;
const BEARER = /^[!-~]+$/;

/** Reads the bearer from the first line of the input, and ignores everything after it. Errors have upstream's texts. */
export async function readRegistrationBearer(input: Readable): Promise<string> {
	const line = await readFirstLine(input);
	const bearer = line?.toString('latin1').replace(/\r$/, '');
	if (bearer === undefined) {
		input.destroy();
		throw new Error('expected a newline-terminated registration bearer of at most 16 KiB');
	}
	if (!BEARER.test(bearer)) throw new Error('invalid registration bearer');
	return bearer;
}

/** The first line without its newline; undefined if the input ends before the newline, or the line is too long. */
function readFirstLine(input: Readable): Promise<Buffer | undefined> {
	return new Promise(resolve => {
		let received: Buffer = Buffer.alloc(0);
		const onData = (chunk: Buffer): void => {
			received = Buffer.concat([received, chunk]);
			const end = received.indexOf(NEWLINE);
			if (end >= 0) finish(end < MAX_BEARER_LINE_BYTES ? received.subarray(0, end) : undefined);
			else if (received.length >= MAX_BEARER_LINE_BYTES) finish(undefined);
		};
		const onEnd = (): void => finish(undefined);
		const finish = (line: Buffer | undefined): void => {
			input.off('data', onData).off('end', onEnd);
			// Keep reading: a writer of later lines must not block on a full pipe. Input errors do not stop the server.
			input.resume();
			resolve(line);
		};
		input.on('data', onData).on('end', onEnd).on('error', onEnd);
	});
}
