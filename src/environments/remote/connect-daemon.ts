import type {Connect} from '../../client/session/session-client.js';
import {METHODS} from '../../protocol/methods/method-table.js';
import {decode} from '../../protocol/wire/decode.js';
import {withTimeout} from '../../shared/async/timeout.js';
import {HeldTransport} from '../../transports/held-transport.js';

const METHOD = 'environment/daemon';
/** Time for the server to start and for its daemon to start. */
const MAX_ANSWER_MS = 60_000;

/** No daemon runs there. */
export class NoDaemonError extends Error {
	override readonly name = 'NoDaemonError';
}

/** Connects to the daemon of the user on the machine of a server that exits with its client, through that server. */
export function connectDaemon(connect: Connect, {start}: {readonly start: boolean}): Connect {
	return async signal => {
		const transport = new HeldTransport(await connect(signal));
		try {
			transport.send(JSON.stringify({id: METHOD, method: METHOD, params: {start}}));
			const answer = await withTimeout(transport.first, MAX_ANSWER_MS, () => {
				throw new Error(`the local daemon of the machine does not answer after ${MAX_ANSWER_MS / 1000} s`);
			});
			if (!readAnswer(answer)) throw new NoDaemonError('no local daemon runs on the machine');
			transport.takeFirst();
			return transport;
		} catch (error) {
			transport.destroy();
			throw error;
		}
	};
}

function readAnswer(text: string | undefined): boolean {
	if (text === undefined)
		throw new Error('the server has ended before it was connected to the local daemon of its machine');
	const {error, result} = JSON.parse(text) as {error?: {message?: unknown}; result?: unknown};
	if (error !== undefined) throw new Error(`the local daemon of the machine cannot be used: ${String(error.message)}`);
	return decode(METHODS[METHOD].result, result).running;
}
