const ID_BYTES = 16;

/** 32 hexadecimal characters, as long as the protocol takes for a handle; never the same twice. */
export function randomId(): string {
	const bytes = crypto.getRandomValues(new Uint8Array(ID_BYTES));
	return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('');
}
