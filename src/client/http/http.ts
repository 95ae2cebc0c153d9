/** A header whose value ends with that of a variable of the executor, so that the client never sees it. */
export interface VariableHeader {
	readonly name: string;
	/** What comes before the variable's value, `Bearer ` say. */
	readonly value: string;
	readonly valueEnvVar: string;
}

/** What `fetch` takes, and some more. Options about caches, credentials and the like mean nothing here. */
export interface FetchInit extends RequestInit {
	/** For everything, from connecting to the last byte of the body. */
	readonly timeoutMs?: number | undefined;
	readonly variableHeaders?: readonly VariableHeader[] | undefined;
	/** Whether a body in gzip or deflate is unpacked; it is unless told otherwise. */
	readonly decode?: boolean | undefined;
}

/** The network as one machine sees it. */
export interface Http {
	/**
	 * Like the function of this name, with the differences that docs/http.md lists. Fails with an `HttpError`, which is
	 * a `TypeError` as there, or with the reason of the signal.
	 */
	fetch(input: string | URL | Request, init?: FetchInit): Promise<Response>;
}
