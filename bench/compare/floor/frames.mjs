const NOTHING = Buffer.alloc(0);
const TEXT_FRAME = 0x81;
const NEWLINE = 0x0a;

/** How messages leave on a WebSocket: `send(text)`, and `sendBulk(head, data, tail)` with base64 in between. */
export function webSocketSender(peer, socket, {send: mode, best}) {
	if (mode === 'raw') return rawSender(socket, webSocketFrame, best);
	return {
		send: text => peer.send(text),
		sendBulk: (head, data, tail) => peer.send(head + data.toString('base64') + tail),
	};
}

/** How messages leave as lines. */
export function lineSender(socket, {best}) {
	return rawSender(socket, line, best);
}

/** Each message as one buffer without a JSON string in between; those of one turn in one write when `isGathered`. */
function rawSender(socket, toBytes, isGathered) {
	let isCorked = false;
	const write = isGathered
		? bytes => {
				if (!isCorked) {
					isCorked = true;
					socket.cork();
					process.nextTick(() => {
						isCorked = false;
						socket.uncork();
					});
				}
				socket.write(bytes);
			}
		: bytes => socket.write(bytes);
	return {
		send: text => write(toBytes(text, NOTHING, '')),
		sendBulk: (head, data, tail) => write(toBytes(head, data, tail)),
	};
}

function webSocketFrame(head, data, tail) {
	const base64 = base64Of(data);
	const length = head.length + base64.length + tail.length;
	const headerLength = length < 126 ? 2 : length < 65_536 ? 4 : 10;
	const frame = Buffer.allocUnsafe(headerLength + length);
	frame[0] = TEXT_FRAME;
	if (length < 126) frame[1] = length;
	else if (length < 65_536) {
		frame[1] = 126;
		frame.writeUInt16BE(length, 2);
	} else {
		frame[1] = 127;
		frame.writeUInt32BE(Math.floor(length / 2 ** 32), 2);
		frame.writeUInt32BE(length >>> 0, 6);
	}
	let at = headerLength + frame.latin1Write(head, headerLength);
	at += frame.latin1Write(base64, at);
	frame.latin1Write(tail, at);
	return frame;
}

function line(head, data, tail) {
	const base64 = base64Of(data);
	const length = head.length + base64.length + tail.length;
	const bytes = Buffer.allocUnsafe(length + 1);
	bytes.latin1Write(head, 0);
	bytes.latin1Write(base64, head.length);
	bytes.latin1Write(tail, head.length + base64.length);
	bytes[length] = NEWLINE;
	return bytes;
}

function base64Of(data) {
	return data.length === 0 ? '' : data.base64Slice(0, data.length);
}
