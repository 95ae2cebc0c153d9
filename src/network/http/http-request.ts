/** Header of a client's request; with `valueEnvVar`, the value of that variable is appended to `value`. */
export interface GivenHeader {
	readonly name: string;
	readonly value: string;
	readonly valueEnvVar?: string | null | undefined;
}

/** Request of a client, before validation. */
export interface HttpRequest {
	/** Chosen by the client; unique among its streams only. */
	readonly id: string;
	readonly method: string;
	readonly url: string;
	readonly headers: readonly GivenHeader[];
	readonly body: Uint8Array | undefined;
	/** Limit for the whole exchange, from connecting to the last byte of the body. */
	readonly timeoutMs: number | undefined;
	readonly redirects: 'follow' | 'stop';
}

/** Name in lower case, value as on the wire: one character per byte. */
export type Header = readonly [name: string, value: string];

/** One request on the wire; a redirect makes the next. */
export interface Hop {
	readonly method: string;
	/** Without credentials and fragment. */
	readonly url: URL;
	readonly headers: readonly Header[];
	readonly body: Uint8Array | undefined;
	/** Names of headers whose values are taken from variables of the executor: secrets, whatever their names are. */
	readonly secretHeaders?: ReadonlySet<string>;
}

export type HttpVariables = Readonly<Record<string, string | undefined>>;
