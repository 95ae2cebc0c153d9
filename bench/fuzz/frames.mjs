export const [CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG] = [0, 1, 2, 8, 9, 10];

/** A frame as a client sends it, or as it must not; `length` may be a lie. */
export function frame(
	payload,
	{final = true, opcode = TEXT, mask = 0, masked = true, length = payload.length, reserved = 0},
) {
	const size = length < 126 ? 2 : length < 65_536 ? 4 : 10;
	const bytes = Buffer.allocUnsafe(size + (masked ? 4 : 0) + payload.length);
	bytes[0] = (final ? 0x80 : 0) | reserved | opcode;
	bytes[1] = (masked ? 0x80 : 0) | (size === 2 ? length : size === 4 ? 126 : 127);
	if (size === 4) bytes.writeUInt16BE(length, 2);
	if (size === 10) bytes.writeBigUInt64BE(BigInt(length), 2);
	if (masked) bytes.writeUInt32BE(mask, size);
	const start = bytes.length - payload.length;
	bytes.set(payload, start);
	if (mask !== 0)
		for (let index = 0; index < payload.length; index++) bytes[start + index] ^= bytes[size + (index & 3)];
	return bytes;
}

/** Where the payload of the first frame lies; undefined while that is not known. */
export function frameHead(bytes) {
	if (bytes.length < 2) return undefined;
	const short = bytes[1] & 0x7f;
	const start = {126: 4, 127: 10}[short] ?? 2;
	if (bytes.length < start) return undefined;
	const length = start === 2 ? short : start === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
	return {start, end: start + length};
}

/** Most frames go out as they are, which is quicker. */
export function maskOf(random) {
	return random.chance(0.1) ? random.next() : 0;
}
