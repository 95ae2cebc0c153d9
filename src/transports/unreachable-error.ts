const HINT = 'Check the address, and that a server listens there: longarm serve.';
const TOKEN_HINT = 'It wants a token: LONGARM_EXEC_SERVER_TOKEN, or longarm env add with --token-file.';

/** There is no way to a server. */
export class UnreachableError extends Error {
	override readonly name = 'UnreachableError';
	/** What would help. */
	readonly hint: string;

	constructor(message: string, options?: ErrorOptions) {
		super(message, options);
		this.hint = /\b401\b/.test(message) ? TOKEN_HINT : HINT;
	}
}
