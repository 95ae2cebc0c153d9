// A WebSocket server that sends ready-made frames of process output as fast as they go: the load generator's ceiling.
//   node frame-source.cjs CHUNK_BYTES
'use strict';
const net = require('node:net');

const TOTAL_BYTES = 512 * 1024 * 1024;
const WRITE_BYTES = 1024 * 1024;
/** So that the first frame does not come with the answer to the handshake. */
const BEFORE_MS = 50;
const chunkBytes = Number(process.argv[2]);

const content = Buffer.alloc(chunkBytes).toString('base64');
const text = `{"method":"process/output","params":{"processId":"p","seq":1,"stream":"stdout","chunk":"${content}"}}`;
const frame = Buffer.concat([frameHeader(text.length), Buffer.from(text)]);
const framesPerWrite = Math.max(1, Math.floor(WRITE_BYTES / frame.length));
const block = Buffer.concat(Array.from({length: framesPerWrite}, () => frame));

net
	.createServer(socket => {
		socket.on('error', () => {});
		socket.once('data', () => {
			socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
			let left = Math.floor(TOTAL_BYTES / chunkBytes / framesPerWrite);
			const send = () => {
				while (left-- > 0) {
					if (!socket.write(block)) {
						socket.once('drain', send);
						return;
					}
				}
				socket.end();
			};
			setTimeout(send, BEFORE_MS);
		});
	})
	.listen(0, '127.0.0.1', function listening() {
		console.log(`ws://127.0.0.1:${this.address().port}`);
	});
process.stdin.resume();
process.stdin.on('end', () => process.exit());

function frameHeader(length) {
	const header = Buffer.alloc(length < 65_536 ? 4 : 10);
	header[0] = 0x81;
	header[1] = length < 65_536 ? 126 : 127;
	if (length < 65_536) header.writeUInt16BE(length, 2);
	else header.writeBigUInt64BE(BigInt(length), 2);
	return header;
}
