/** A header whose value ends with that of a variable of the executor, so that the client never sees it. */
export interface VariableHeader {
	readonly name: string;
	/** Prefix before the variable's value, such as `Bearer `. */
	readonly value: string;
	readonly valueEnvVar: string;
}

/** Options of `fetch`, and more. Options about caches, credentials and the like are ignored. */
export interface FetchInit extends RequestInit {
	/** Time limit from connecting to the last byte of the body. */
	readonly timeoutMs?: number | undefined;
	readonly variableHeaders?: readonly VariableHeader[] | undefined;
	/** Decompresses a body in gzip or deflate; on by default. */
	readonly decode?: boolean | undefined;
}

/** HTTP requests from one machine. */
export interface Http {
	/**
	 * Like the function of this name, with the differences that docs/http.md lists. Fails with an `HttpError`, which is
	 * a `TypeError` as there, or with the reason of the signal.
	 */
	fetch(input: string | URL | Request, init?: FetchInit): Promise<Response>;
}
