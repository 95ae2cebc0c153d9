/** Nothing was heard from the peer for so long that it is taken for gone. */
export class PeerSilentError extends Error {
	override readonly name = 'PeerSilentError';
}
