/** The transport is closed. Pending and later calls all fail with the same message. */
export class DisconnectedError extends Error {
	override readonly name = 'DisconnectedError';

	/** `suffix` is appended to the message. */
	constructor(cause?: Error, suffix = '') {
		super(`exec-server transport disconnected${cause ? `: ${cause.message}` : ''}${suffix}`, cause && {cause});
	}
}
