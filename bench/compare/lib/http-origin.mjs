// A local origin for the HTTP metrics, in a process of its own: GET /bytes/N answers N bytes. Ends with its stdin.
import http from 'node:http';

const KEEP_ALIVE_MS = 60_000;
const block = Buffer.alloc(256 * 1024, 'abcdefghijklmnopqrstuvwxyz012345');

const server = http.createServer((request, response) => {
	let left = Number(/^\/bytes\/(\d+)/.exec(request.url)?.[1] ?? 0);
	response.writeHead(200, {'content-type': 'application/octet-stream', 'content-length': left});
	const more = () => {
		while (left > 0) {
			const size = Math.min(left, block.length);
			left -= size;
			if (!response.write(size === block.length ? block : block.subarray(0, size))) {
				response.once('drain', more);
				return;
			}
		}
		response.end();
	};
	more();
});
server.keepAliveTimeout = KEEP_ALIVE_MS;
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
