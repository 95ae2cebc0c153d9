import {MIB} from '../../lib/measure.mjs';
import {deliveryFaults, higher, info} from './values.mjs';
import {cost, costed, pump, runToEnd, zeros} from './work.mjs';

/** Nineteen digits, so that every line of `seq` has 20 bytes. */
const FIRST_LINE = 1_000_000_000_000_000_000n;
const LINE_BYTES = 20;
const TINY_LINE = 'line number 0123456789';

/** Bulk output, lines of 20 bytes, and lines each with its own write(2) as a logger or a compiler prints them. */
export async function streamPipe(server, sizes) {
	const client = await server.connect();
	await pump(server, client, {name: 'warm', argv: zeros(8), bytes: 8 * MIB});
	const bulk = {name: 'bulk', argv: zeros(sizes.pipeMiB), bytes: sizes.pipeMiB * MIB};
	const last = FIRST_LINE + BigInt(sizes.lines - 1);
	const lines = {
		name: 'lines',
		argv: ['seq', String(FIRST_LINE), String(last)],
		bytes: sizes.lines * LINE_BYTES,
	};
	const values = {
		...(await pump(server, client, bulk)),
		...(await pump(server, client, lines)),
		...(await tinyWrites(server, client, sizes.tiny)),
	};
	server.release(client);
	return values;
}

async function tinyWrites(server, client, count) {
	const script = `i=0; while [ $i -lt ${count} ]; do echo "${TINY_LINE}"; i=$((i+1)); done`;
	const argv = ['/bin/sh', '-c', script];
	const {result, ms, serverCpu} = await costed(server, () => runToEnd(client, 'tiny', argv));
	return {
		tiny_writes: higher(count / (ms / 1000), 'lines/s'),
		tiny_writes_cpu: cost(serverCpu, count, 'us/line'),
		tiny_writes_chunk: info(result.bytes / result.chunks, 'B/frame'),
		...deliveryFaults('tiny_writes', result, count * (TINY_LINE.length + 1)),
	};
}

export async function streamTerminal(server, sizes) {
	const client = await server.connect();
	await pump(server, client, {name: 'warm', argv: zeros(2), bytes: 2 * MIB, tty: true});
	const flood = {name: 'pty', argv: zeros(sizes.ptyMiB), bytes: sizes.ptyMiB * MIB, tty: true};
	const values = await pump(server, client, flood);
	server.release(client);
	return values;
}

/** Several agents at once: as many connections, each with a program that prints much. */
export async function streamMany(server, sizes) {
	const clients = await Promise.all(Array.from({length: sizes.many}, () => server.connect()));
	const expected = sizes.manyMiB * MIB;
	const streamAll = () =>
		Promise.all(
			clients.map(async client => {
				const {bytes} = await runToEnd(client, 'many', zeros(sizes.manyMiB));
				if (bytes !== expected) throw new Error(`a stream gave ${bytes} of ${expected} bytes`);
			}),
		);
	await streamAll();
	const {ms, serverCpu} = await costed(server, streamAll);
	for (const client of clients) server.release(client);
	const total = sizes.many * sizes.manyMiB;
	return {total: higher(total / (ms / 1000), 'MiB/s'), total_cpu: cost(serverCpu, total, 'ms/MiB')};
}
