/** So many random bytes in hexadecimal digits. */
export function randomHex(bytes: number): string {
	const random = crypto.getRandomValues(new Uint8Array(bytes));
	return Array.from(random, byte => byte.toString(16).padStart(2, '0')).join('');
}

/** A whole number from `least` to `most`, both included. */
export function randomInteger(least: number, most: number): number {
	return least + Math.floor(Math.random() * (most - least + 1));
}
