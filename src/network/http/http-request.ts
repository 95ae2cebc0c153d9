/** A header as a client gives it; with a variable, that variable's value is put behind `value`. */
export interface GivenHeader {
	readonly name: string;
	readonly value: string;
	readonly valueEnvVar?: string | null | undefined;
}

/** What a client asks for, unchecked. */
export interface HttpRequest {
	/** What the client calls it; any number of requests may share one, except of streams. */
	readonly id: string;
	readonly method: string;
	readonly url: string;
	readonly headers: readonly GivenHeader[];
	readonly body: Uint8Array | undefined;
	/** For everything, from connecting to the last byte of the body. */
	readonly timeoutMs: number | undefined;
	readonly redirects: 'follow' | 'stop';
}

/** Name in lower case, value as it goes over the wire: one character per byte. */
export type Header = readonly [name: string, value: string];

/** One request on the wire; a redirect makes the next. */
export interface Hop {
	readonly method: string;
	/** Without credentials and fragment. */
	readonly url: URL;
	readonly headers: readonly Header[];
	readonly body: Uint8Array | undefined;
}

export type HttpVariables = Readonly<Record<string, string | undefined>>;
