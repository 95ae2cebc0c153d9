/** First characters of the authorization of a client that a pool has sent: part of the secret, so nobody can take them off. */
const PLACED_MARK = 'placed.';

/** Codes of a hub that has no executor for a client. */
export const POOL_FULL_CODE = 'pool_full';
export const POOL_EMPTY_CODE = 'pool_empty';

export function markPlaced(authorization: string): string {
	return `${PLACED_MARK}${authorization}`;
}

/** Whether a pool has sent the client, instead of it asking for this very executor. */
export function isPlaced(authorization: string): boolean {
	return authorization.startsWith(PLACED_MARK);
}
