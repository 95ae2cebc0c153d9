import type {Header, Hop} from './http-request.js';
import {hasHeader} from './prepare-request.js';

/**
 * Request line and headers, one character per byte: exactly the headers of the hop, the host and the length. Repeated
 * ones are lines of their own behind the first, as upstream's server sends them.
 */
export function formatRequestHead(hop: Hop, target: string, proxyHeaders: readonly Header[]): string {
	const {method, url, headers, body} = hop;
	let text = `${method} ${target} HTTP/1.1\r\n`;
	for (const [name, value] of headers.length > 1 ? groupByName(headers) : headers) text += `${name}: ${value}\r\n`;
	for (const [name, value] of proxyHeaders) if (!hasHeader(headers, name)) text += `${name}: ${value}\r\n`;
	if (!hasHeader(headers, 'host')) text += `host: ${url.host}\r\n`;
	if (body) text += `content-length: ${body.length}\r\n`;
	return `${text}\r\n`;
}

function groupByName(headers: readonly Header[]): Header[] {
	const names = new Set(headers.map(([name]) => name));
	if (names.size === headers.length) return [...headers];
	return [...names].flatMap(name => headers.filter(([each]) => each === name));
}
