/** What is not UTF-8 is replaced. A byte order mark stays, so that text written back is what it was. */
export function decodeText(bytes: Uint8Array): string {
	return new TextDecoder('utf-8', {ignoreBOM: true}).decode(bytes);
}
