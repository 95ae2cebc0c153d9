import {spawn} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import {MIB} from '../../lib/measure.mjs';
import {printedAddress} from '../../lib/printed-address.mjs';
import {inParallel} from '../../lib/waiting.mjs';
import {higher, info, latencies} from './values.mjs';
import {cost, costed, uniqueId} from './work.mjs';

const ORIGIN = fileURLToPath(new URL('../lib/http-origin.mjs', import.meta.url));
const SMALL_BYTES = 256;
const FLIGHT = 16;
const WARM_UP_REQUESTS = 100;
const WARM_UP_MIB = 4;

/** Small requests, fresh and warm, and a large body that comes in pieces. */
export async function httpProxy(server, sizes, context) {
	context.originUrl ??= await startOrigin(context);
	const client = await server.connect();
	const values = {
		...(await smallRequests(server, client, sizes, context.originUrl)),
		...(await streamedBody(server, client, sizes.httpMiB, context.originUrl)),
	};
	server.release(client);
	return values;
}

async function startOrigin({cleanup}) {
	const child = spawn(process.execPath, [ORIGIN], {stdio: ['pipe', 'pipe', 'inherit']});
	cleanup.push(() => child.kill());
	return printedAddress(child, {name: 'the HTTP origin', scheme: 'http'});
}

async function smallRequests(server, client, {httpN, warmCalls}, origin) {
	const url = `${origin}/bytes/${SMALL_BYTES}`;
	const requestOne = async () => {
		const params = {method: 'GET', url, headers: [], requestId: uniqueId('q')};
		const {bulkBytes, json} = await client.call('http/request', params, true);
		if (bulkBytes !== SMALL_BYTES && Buffer.from(json.result?.bodyBase64 ?? '', 'base64').length !== SMALL_BYTES)
			throw new Error('short body');
	};
	await inParallel(WARM_UP_REQUESTS, FLIGHT, requestOne);
	const fresh = await costed(server, () => inParallel(httpN, FLIGHT, requestOne));
	await inParallel(warmCalls, FLIGHT, requestOne);
	const warm = await costed(server, () => inParallel(httpN, FLIGHT, requestOne));
	return {
		small: higher(httpN / (fresh.ms / 1000), 'req/s'),
		...latencies('small', fresh.result.times, 'ms'),
		small_cpu: cost(fresh.serverCpu, httpN, 'us/req'),
		small_warm: higher(httpN / (warm.ms / 1000), 'req/s'),
		small_warm_cpu: cost(warm.serverCpu, httpN, 'us/req'),
	};
}

async function streamedBody(server, client, mebibytes, origin) {
	const stream = async size => {
		const url = `${origin}/bytes/${size * MIB}`;
		const body = client.httpStream({method: 'GET', url, headers: [], requestId: uniqueId('q')});
		await body.response;
		return body.done;
	};
	await stream(WARM_UP_MIB);
	const {result, ms, serverCpu} = await costed(server, () => stream(mebibytes));
	const values = {
		stream: higher(mebibytes / (ms / 1000), 'MiB/s'),
		stream_cpu: cost(serverCpu, mebibytes, 'ms/MiB'),
		stream_chunk: info(result.bytes / result.chunks, 'B/frame'),
	};
	const missing = mebibytes * MIB - result.bytes;
	if (missing || result.gaps) values.stream_LOST = info(missing, 'bytes', `${result.gaps} gaps`);
	return values;
}
