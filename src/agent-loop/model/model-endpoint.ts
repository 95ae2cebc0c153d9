/** A key shorter than this is no secret; replacing it would garble messages. */
const MIN_SECRET_LENGTH = 4;
const REDACTED = '[key]';

/** The base URL of an endpoint cannot be used. */
export class EndpointUrlError extends Error {
	override readonly name = 'EndpointUrlError';
}

/** Address of a Responses API and the key for it, which no property, print or error shows. */
export class ModelEndpoint {
	/** `{base}/responses`. */
	readonly url: string;
	readonly #apiKey: string | undefined;

	/** Throws an `EndpointUrlError` for a base URL that is not http or https, or that holds a password. */
	constructor(baseUrl: string, apiKey?: string) {
		this.url = responsesUrl(baseUrl);
		this.#apiKey = apiKey;
	}

	/** Whether the key crosses a network in clear text. */
	get isExposed(): boolean {
		if (this.#apiKey === undefined) return false;
		const {protocol, hostname} = new URL(this.url);
		return protocol === 'http:' && !/^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
	}

	/** Value of the header `authorization`; undefined without a key. */
	authorization(): string | undefined {
		return this.#apiKey === undefined ? undefined : `Bearer ${this.#apiKey}`;
	}

	/** A text of the endpoint without the key: some repeat it in their refusal. */
	redact(text: string): string {
		const key = this.#apiKey ?? '';
		return key.length < MIN_SECRET_LENGTH ? text : text.replaceAll(key, REDACTED);
	}
}

function responsesUrl(baseUrl: string): string {
	let url: URL;
	try {
		url = new URL(baseUrl);
	} catch {
		// Without the text: it may hold a password.
		throw new EndpointUrlError('the base URL is not a URL such as https://host/v1');
	}
	if (url.protocol !== 'http:' && url.protocol !== 'https:') {
		throw new EndpointUrlError(`the base URL must begin with https:// or http://, not ${url.protocol}`);
	}
	if (url.username !== '' || url.password !== '') {
		throw new EndpointUrlError('the base URL must not hold a user name or a password');
	}
	url.hash = '';
	url.pathname = `${url.pathname.replace(/\/+$/, '')}/responses`;
	return url.href;
}
