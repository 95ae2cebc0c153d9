import {resolve} from 'node:path';
import {openOwnDirectory} from '../../processes/spill/own-directory.js';
import {toStateError} from '../../processes/spill/state-files.js';
import {lockState, type StateLock} from '../../processes/spill/state-lock.js';
import {type NatsBackend, type NatsBackendOptions, openNatsBackend} from './nats-backend.js';
import {markStateInNats} from './nats-marker.js';
import {startNatsServer} from './nats-server-child.js';

const SERVER_DIRECTORY = 'nats';

/** Name of the setting that starts a server on this machine. */
export const AUTOMATIC_SERVER = 'auto';

export interface NatsDirectoryOptions extends Omit<NatsBackendOptions, 'child' | 'lock'> {
	/** Directory of the node: its control socket, and the files of a server that it starts. */
	readonly directory: string;
}

/** Opens the state in NATS for a node that uses a directory of its own; starts a server if there is `auto` instead of servers. */
export async function openNatsDirectory(options: NatsDirectoryOptions): Promise<NatsBackend> {
	const {directory, servers, logger} = options;
	const lock = takeDirectory(directory);
	try {
		if (!servers.includes(AUTOMATIC_SERVER)) return await openNatsBackend({...options, lock});
		const child = await startNatsServer(resolve(directory, SERVER_DIRECTORY), logger);
		try {
			const {url, token, certificate} = child;
			return await openNatsBackend({...options, servers: [url], token, tls: {ca: certificate}, child, lock});
		} catch (error) {
			await child.close();
			throw error;
		}
	} catch (error) {
		lock.release();
		throw error;
	}
}

function takeDirectory(directory: string): StateLock {
	try {
		openOwnDirectory(resolve(directory));
		const lock = lockState(directory);
		markStateInNats(directory);
		return lock;
	} catch (error) {
		throw toStateError(error, directory);
	}
}
