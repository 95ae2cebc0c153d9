/** So many random bytes in hexadecimal digits. */
export function randomHex(bytes: number): string {
	const random = crypto.getRandomValues(new Uint8Array(bytes));
	return Array.from(random, byte => byte.toString(16).padStart(2, '0')).join('');
}

/** A whole number from `least` to `most`, both included. */
export function randomInteger(least: number, most: number): number {
	return least + Math.floor(Math.random() * (most - least + 1));
}

const ID_BYTES = 16;

/** 32 hexadecimal characters, as long as the protocol takes for a handle; never the same twice. */
export function randomId(): string {
	const bytes = crypto.getRandomValues(new Uint8Array(ID_BYTES));
	return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('');
}
