import type {HubStatus} from '../../../hub/hub-status-record.js';
import {toSafeJson} from '../../../shared/safe-json.js';
import {printable} from '../../common/printable.js';
import {writeOut} from '../../common/stdout.js';
import {EXIT} from '../../exit-codes.js';
import {askHub} from './ask-hub.js';
import {type HubDirectoryOptions, ownHubDirectory} from './hub-directory.js';

/** Shows the node that runs on this machine, and those it knows. */
export async function showHubStatus({data, json}: HubDirectoryOptions): Promise<number> {
	const status = await askHub<HubStatus>(ownHubDirectory(data), {method: 'GET', path: '/status'});
	await writeOut(json ? `${toSafeJson(status)}\n` : formatStatus(status));
	return EXIT.ok;
}

/** Begins a drain; the hub ends when it is over. */
export async function drainHub({data, timeoutMs}: {data: string | undefined; timeoutMs: number}): Promise<number> {
	await askHub(ownHubDirectory(data), {method: 'POST', path: '/drain', body: {timeoutMs}});
	return EXIT.ok;
}

function formatStatus({isDraining, executors, clients, streams, nodes, nats}: HubStatus): string {
	const lines = [
		`state      ${isDraining ? 'draining' : 'serving'}`,
		`here       executors: ${executors}, clients: ${clients}, streams: ${streams}`,
		nats
			? `NATS       ${nats.server}, version ${nats.version}, ${nats.isConnected ? 'connected' : 'not connected'}, disconnects: ${nats.disconnects}`
			: 'NATS       not used: this hub is alone',
		...(nats
			? [`links      ${nats.links}, given up: ${nats.linkResets}, bytes on the way: ${nats.bytesOnTheWay}`]
			: []),
		...nodes.map(node => {
			const state = node.isAlive ? (node.isDraining ? 'draining' : 'serving') : 'does not answer';
			return `node       ${node.id}  ${state}, executors: ${node.executors}${node.isSelf ? ' (this one)' : ''}`;
		}),
	];
	return `${lines.map(printable).join('\n')}\n`;
}
