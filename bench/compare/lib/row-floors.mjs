import {median} from '../../lib/stats.mjs';

/** By row: the floor of `floors.mjs` that a server cannot get beyond, in the same unit. */
const FLOORS = {
	'startup.ready_p50': 'node -e 0',
	'rpc_rtt.seq_p50': 'C round trip over loopback, p50',
	'rpc_rtt.seq_warm_p50': 'C round trip over loopback, p50',
	'spawn_latency.pipe_p50': 'C posix_spawn /bin/true + wait, p50',
	'spawn_latency.pty_p50': 'C posix_spawn /bin/true + wait, p50',
	'spawn_throughput.rate': 'C posix_spawn, 32 at once',
	'echo_latency.pipe_p50': 'C keystroke to cat and back over loopback, p50',
	'echo_latency.pty_p50': 'C keystroke to cat on a pty and back, p50',
	'stream_pipe.bulk': 'C sends head from a pipe as base64 would be',
	'stream_pty.pty': 'C sends head from a pty as base64 would be',
	'stream_many.total': 'C sends head from a pipe as base64 would be',
	'slow_consumer.resume': 'C sends head from a pipe as base64 would be',
	'fs_io.read_whole': 'C sends a file as base64 would be',
	'fs_io.read_blocks': 'C sends a file as base64 would be',
	'fs_io.read_blocks_8': 'C sends a file as base64 would be',
	'fs_io.write_whole': 'C receives and writes a file',
	'fs_io.small_reads': 'C open, fstat, read, close of 1 KiB',
	'fs_io.small_reads_warm': 'C open, fstat, read, close of 1 KiB',
	'fs_io.metadata': 'C lstat',
	'fs_io.metadata_warm': 'C lstat',
	'fs_io.readdir': 'C lists 5,000 entries',
	'fs_io.walk': 'C walks 5,220 entries',
	'http_proxy.stream': 'C sends a stream of a peer as base64 would be',
	'scale.stop_all': 'C kills and waits for 1000 sleeps',
	'scale.connect_all': 'C 200 connections with two round trips each',
};

/** The floor of a row as measured; undefined where there is none. */
export function floorOf(row, floors) {
	const measured = floors?.[FLOORS[row]];
	return measured && median(measured.v);
}
