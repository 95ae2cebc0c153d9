const ID_BYTES = 16; /** `bytes` random bytes as hexadecimal digits. */
export function randomHex(bytes: number): string {
	const random = crypto.getRandomValues(new Uint8Array(bytes));
	return Array.from(random, byte => byte.toString(16).padStart(2, '0')).join('');
}

/** Integer from `min` to `max`, both included. Not for secrets. */
export function randomInteger(min: number, max: number): number {
	return min + Math.floor(Math.random() * (max - min + 1));
}

/** Unique id of 32 hexadecimal characters, the longest handle id of the protocol. */
export function randomId(): string {
	return randomHex(ID_BYTES);
}
