import {request} from 'node:http';
import {join} from 'node:path';
import {CONTROL_SOCKET} from '../../../hub/control-socket.js';
import {withTimeout} from '../../../shared/async/timeout.js';
import {LongarmError} from '../../../shared/errors.js';

const ANSWER_TIMEOUT_MS = 10_000;

/** No hub runs on this machine with that directory. */
class NoHubError extends Error {
	override readonly name = 'NoHubError';
	readonly hint = 'Start one there with longarm hub, or name the directory of the hub that runs here with --data.';

	constructor(directory: string, cause: Error) {
		super(`no hub that uses ${directory} answers: ${cause.message}`, {cause});
	}
}

/** Asks the hub that runs on this machine with this directory. */
export async function askHub<T>(
	directory: string,
	call: {readonly method: 'GET' | 'POST'; readonly path: string; readonly body?: object},
): Promise<T> {
	let answer: {readonly status: number; readonly text: string};
	try {
		answer = await withTimeout(send(join(directory, CONTROL_SOCKET), call), ANSWER_TIMEOUT_MS, () => {
			throw new Error('it does not answer');
		});
	} catch (cause) {
		throw new NoHubError(directory, cause as Error);
	}
	const value = JSON.parse(answer.text) as {readonly error?: {readonly message?: string}};
	if (answer.status === 200) return value as T;
	throw new LongarmError('SETTING_INVALID', {message: value.error?.message ?? 'the hub refuses'});
}

function send(
	socketPath: string,
	{method, path, body}: {readonly method: string; readonly path: string; readonly body?: object},
): Promise<{readonly status: number; readonly text: string}> {
	return new Promise((resolve, reject) => {
		const pending = request({socketPath, method, path, agent: false}, response => {
			const chunks: Buffer[] = [];
			response.on('data', (chunk: Buffer) => chunks.push(chunk));
			response.on('error', reject);
			response.on('end', () => resolve({status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString()}));
		});
		pending.on('error', reject);
		pending.end(body && JSON.stringify(body));
	});
}
