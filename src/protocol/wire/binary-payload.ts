/** Members whose values are base64 of any length, right below `params` or `result`. */
export const PAYLOAD_MEMBERS = ['chunk', 'dataBase64', 'bodyBase64', 'deltaBase64'] as const;

/**
 * A long base64 value that a transport has taken out of a message and decoded, so that bulk never becomes a string: a
 * string of that size costs more than the rest of a message, and memory that is collected late.
 */
export interface BinaryPayload {
	readonly member: (typeof PAYLOAD_MEMBERS)[number];
	/** What stands in its place. */
	readonly placeholder: string;
	readonly bytes: Uint8Array;
	/** Nobody looks at the bytes any more; their memory may be used again. Need not be called. */
	readonly release: () => void;
	/** The message as it came. */
	original(): string;
}
