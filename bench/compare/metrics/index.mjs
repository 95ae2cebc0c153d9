import {headOfLine, roundTrips} from './calls.mjs';
import {echoLatency} from './echo.mjs';
import {streamFair} from './fairness.mjs';
import {fileAccess} from './files.mjs';
import {httpProxy} from './http.mjs';
import {retention, slowConsumer} from './memory.mjs';
import {scale, scaleTerminals} from './scale.mjs';
import {spawnLatency, spawnThroughput} from './spawns.mjs';
import {startup} from './startup.mjs';
import {streamMany, streamPipe, streamTerminal} from './streams.mjs';

/**
 * The metrics in the order they run. `measure(server, sizes, context)` resolves with values by name. Every repetition
 * has a new server, so that rows are those of a cold one; `_warm` rows come behind many calls. A metric that `startsServers`
 * gets a server that is not started.
 */
export const METRICS = {
	startup: {measure: startup, startsServers: true},
	rpc_rtt: {measure: roundTrips},
	head_of_line: {measure: headOfLine},
	spawn_latency: {measure: spawnLatency},
	spawn_throughput: {measure: spawnThroughput},
	echo_latency: {measure: echoLatency},
	stream_pipe: {measure: streamPipe},
	stream_pty: {measure: streamTerminal},
	stream_many: {measure: streamMany},
	stream_fair: {measure: streamFair},
	fs_io: {measure: fileAccess},
	http_proxy: {measure: httpProxy},
	slow_consumer: {measure: slowConsumer},
	retention: {measure: retention},
	scale: {measure: scale},
	scale_pty: {measure: scaleTerminals},
};
