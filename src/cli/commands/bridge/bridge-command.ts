import {connectorFor} from '../../../environments/remote/remote-backend.js';
import {waitAtMost} from '../../../shared/async/timeout.js';
import {errorMessage} from '../../../shared/errors.js';
import {ownStdio} from '../../../transports/node/stdio.js';
import {hintOf} from '../../common/hint-of.js';
import {relayStderr, writeMessage} from '../../common/messages.js';
import {resolveTarget} from '../../common/resolve-target.js';
import {EXIT, usageError} from '../../exit-codes.js';
import {Bridge} from './bridge.js';

/** How long the reader of our stdout may take for the rest. */
const GOODBYE_MS = 1000;

/** Passes messages between stdio and an environment until either ends. */
export async function runBridge(given: string): Promise<number> {
	if (given === 'local') throw usageError('this machine needs no bridge: longarm serve --listen stdio');
	const target = await resolveTarget(given, {onStderr: relayStderr, pools: {waitMs: undefined}});
	const stdio = ownStdio();
	const bridge = new Bridge(stdio, connectorFor(target));
	try {
		await bridge.run();
		return EXIT.ok;
	} catch (error) {
		const hint = hintOf(error);
		writeMessage(`error: ${errorMessage(error)}`, ...(hint === undefined ? [] : [`hint: ${hint}`]));
		return EXIT.failed;
	} finally {
		await waitAtMost(stdio.flushed(), GOODBYE_MS);
	}
}
