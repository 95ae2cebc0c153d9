import {request} from 'node:http';
import {join} from 'node:path';
import {CONTROL_SOCKET} from '../../../hub/control-socket.js';
import type {ListedEnvironment} from '../../../hub/environment-routes.js';
import {withTimeout} from '../../../shared/async/timeout.js';
import {LongarmError} from '../../../shared/errors.js';
import {toSafeJson} from '../../../shared/safe-json.js';
import {writeOut} from '../../common/stdout.js';
import {EXIT} from '../../exit-codes.js';
import {type HubDirectoryOptions, hubDirectory} from './hub-directory.js';

const ANSWER_TIMEOUT_MS = 10_000;
const ID_WIDTH = 24;

/** Asks the hub that runs on this machine. */
export async function listHubEnvironments({data, json}: HubDirectoryOptions): Promise<number> {
	const environments = await askHub(hubDirectory(data));
	if (json) await writeOut(`${toSafeJson(environments)}\n`);
	else for (const environment of environments) await writeOut(`${formatEnvironment(environment)}\n`);
	return EXIT.ok;
}

async function askHub(directory: string): Promise<readonly ListedEnvironment[]> {
	try {
		const text = await withTimeout(get(join(directory, CONTROL_SOCKET), '/environments'), ANSWER_TIMEOUT_MS, () => {
			throw new Error('it does not answer');
		});
		return (JSON.parse(text) as {readonly environments: readonly ListedEnvironment[]}).environments;
	} catch (cause) {
		throw new LongarmError('STATE_UNUSABLE', {
			message: `no hub that uses ${directory} answers: ${(cause as Error).message}; --data names the directory`,
			cause,
		});
	}
}

function get(socketPath: string, path: string): Promise<string> {
	return new Promise((resolve, reject) => {
		const pending = request({socketPath, path, agent: false}, response => {
			const chunks: Buffer[] = [];
			response.on('data', (chunk: Buffer) => chunks.push(chunk));
			response.on('error', reject);
			response.on('end', () => resolve(Buffer.concat(chunks).toString()));
		});
		pending.on('error', reject);
		pending.end();
	});
}

function formatEnvironment({id, isOnline, key, streams, onlineForMs}: ListedEnvironment): string {
	const since = onlineForMs === null ? '' : `for ${Math.round(onlineForMs / 1000)} s, streams: ${streams}`;
	return `${id.padEnd(ID_WIDTH)}  ${isOnline ? 'online ' : 'offline'}  ${key}  ${since}`.trimEnd();
}
