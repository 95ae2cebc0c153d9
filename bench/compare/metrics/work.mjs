// Work that several metrics put on a server.
import {MIB, timed} from '../../lib/measure.mjs';
import {deliveryFaults, higher, info, lower} from './values.mjs';

/** Above this share of a core the load generator is what limits a figure. */
const CLIENT_BOUND_SHARE = 0.9;

/** Units per second of a cost such as `us/call` or `ms/MiB`. */
const PER_SECOND = {us: 1e6, ms: 1e3};

let serial = 0;

/** An id that no other process, handle or request has. */
export function uniqueId(tag) {
	return `${tag}-${++serial}`;
}

/** A program that prints so many mebibytes. */
export function zeros(mebibytes) {
	return ['head', '-c', String(mebibytes * MIB), '/dev/zero'];
}

/** The result of `work`, and its cost in processor time for the server and for this client. */
export async function costed(server, work) {
	const serverBefore = server.cpu();
	const clientBefore = process.cpuUsage();
	const {result, ms} = await timed(work);
	const {user, system} = process.cpuUsage(clientBefore);
	return {result, ms, serverCpu: server.cpu() - serverBefore, clientShare: (user + system) / 1000 / ms};
}

/** Processor time of the server for so much work: `cost(serverCpu, 2000, 'us/call')`. */
export function cost(serverCpu, amount, unit) {
	return lower((serverCpu * PER_SECOND[unit.slice(0, 2)]) / amount, unit);
}

export function clientBoundNote(clientShare) {
	return clientShare > CLIENT_BOUND_SHARE ? 'client-bound' : undefined;
}

/** A call that costs the server next to nothing: the status, or the read of a finished process where there is none. */
export async function cheapCall(client) {
	try {
		await client.call('environment/status', {});
		return () => client.call('environment/status', {});
	} catch {
		const {id} = await client.start(uniqueId('probe'), ['/bin/true']).done;
		return () => client.call('process/read', {processId: id, afterSeq: null, maxBytes: null, waitMs: 0});
	}
}

/** Runs a program to its end. */
export async function runToEnd(client, tag, argv, options) {
	const started = client.start(uniqueId(tag), argv, options);
	await started.started;
	return started.done;
}

/** Speed, processor time and chunk size of the output of a program. */
export async function pump(server, client, {name, argv, bytes, tty}) {
	const {result, ms, serverCpu, clientShare} = await costed(server, () => runToEnd(client, name, argv, {tty}));
	const mebibytes = result.bytes / MIB;
	return {
		[name]: higher(mebibytes / (ms / 1000), 'MiB/s', clientBoundNote(clientShare)),
		[`${name}_cpu`]: cost(serverCpu, mebibytes, 'ms/MiB'),
		[`${name}_chunk`]: info(result.bytes / result.chunks, 'B/frame'),
		[`${name}_client`]: info(clientShare * 100, '%cpu'),
		...deliveryFaults(name, result, bytes),
	};
}
