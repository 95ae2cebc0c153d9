import {execFileSync, spawn} from 'node:child_process';
import {join} from 'node:path';
import {freePorts} from './nats-cluster.mjs';
import {Victim} from './victim.mjs';

/** Starts `count` nodes of one hub on these NATS servers, with their state in `scratch` and further `flags`. */
export async function startHubNodes({command, scratch, brokers, count, log = 'error', flags = []}) {
	const ports = await freePorts(count);
	const servers = brokers.flatMap(({url}) => ['--nats', url]);
	return ports.map((port, index) => {
		const data = join(scratch, `hub-${index}`);
		const place = ['--listen', `http://127.0.0.1:${port}`, '--data', data, ...servers];
		const args = ['hub', ...place, '--log-level', log, ...flags];
		const start = () => spawn(process.execPath, [command, ...args], {stdio: ['ignore', 'ignore', 'inherit']});
		return Object.assign(new Victim(`hub-${index}`, start), {url: `http://127.0.0.1:${port}`, data});
	});
}

/** Whether all of them take connections. */
export async function areReady(nodes) {
	const answers = nodes.map(({url}) => fetch(`${url}/readyz`, {signal: AbortSignal.timeout(1000)}));
	return (await Promise.allSettled(answers)).every(({value}) => value?.ok);
}

/** A token for all environments of the hub that a node belongs to. */
export function createHubToken(command, node, kind) {
	return execFileSync(process.execPath, [command, 'hub', 'token', 'create', kind, '*', '--data', node.data])
		.toString()
		.trim();
}
