/** The other end broke the protocol, and was hung up on for it. */
export class PeerViolationError extends Error {
	override readonly name = 'PeerViolationError';
}
