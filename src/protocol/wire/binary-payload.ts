/** Members whose values are base64 of any length, right below `params` or `result`. */
export const PAYLOAD_MEMBERS = ['chunk', 'dataBase64', 'bodyBase64', 'deltaBase64'] as const;

/**
 * A long base64 value that a transport has extracted from a message and decoded, so that it never becomes a string: a
 * string of that size costs more than the rest of the message, and its memory is collected late.
 */
export interface BinaryPayload {
	readonly member: (typeof PAYLOAD_MEMBERS)[number];
	/** Text that replaces the value in the message. */
	readonly placeholder: string;
	readonly bytes: Uint8Array;
	/** Returns the memory of the bytes to its pool. Optional; the bytes must not be used afterwards. */
	readonly release: () => void;
	/** The message as received. */
	original(): string;
}
