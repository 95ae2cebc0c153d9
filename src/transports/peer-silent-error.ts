/** Nothing was heard from the peer for so long that it is taken for gone. */
export class PeerSilentError extends Error {
	override readonly name = 'PeerSilentError';
	/** Its machine acknowledges what is sent: the program may be stopped, and go on later. */
	readonly machineAnswers: boolean;

	constructor(message: string, {machineAnswers = false, ...options}: ErrorOptions & {machineAnswers?: boolean} = {}) {
		super(message, options);
		this.machineAnswers = machineAnswers;
	}
}
