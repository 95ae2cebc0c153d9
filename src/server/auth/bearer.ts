/** Why somebody is not let in; these words are the answer's body. */
export type AuthFailure =
	| 'missing websocket bearer token'
	| 'invalid authorization header'
	| 'invalid websocket bearer token'
	| 'invalid websocket jwt'
	| 'expired websocket jwt'
	| 'websocket jwt is not valid yet'
	| 'websocket jwt issuer mismatch'
	| 'websocket jwt audience mismatch';

export type Bearer =
	| {readonly kind: 'token'; readonly token: string}
	| {readonly kind: 'refused'; readonly failure: AuthFailure};

const MALFORMED: Bearer = {kind: 'refused', failure: 'invalid authorization header'};

/** The token of an `Authorization` header. */
export function readBearer(header: string | undefined): Bearer {
	if (header === undefined) return {kind: 'refused', failure: 'missing websocket bearer token'};
	const space = header.indexOf(' ');
	if (!/^[\t -~]*$/.test(header) || header.slice(0, Math.max(space, 0)).toLowerCase() !== 'bearer') return MALFORMED;
	const token = header.slice(space).trim();
	return token === '' ? MALFORMED : {kind: 'token', token};
}
