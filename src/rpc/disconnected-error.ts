/** The transport is gone. Every call that was pending or comes later fails with the same message. */
export class DisconnectedError extends Error {
	override readonly name = 'DisconnectedError';

	/** `more` is what else there is to say behind the reason. */
	constructor(cause?: Error, more = '') {
		super(`exec-server transport disconnected${cause ? `: ${cause.message}` : ''}${more}`, cause && {cause});
	}
}
