import {call, report} from './declare-method.js';
import {empty} from './fields.js';
import * as http from './http.js';

/** HTTP requests and forwarded connections. */
export const HTTP_METHODS = {
	'http/request': call({
		family: 'http',
		since: 'v1',
		params: http.httpRequestParams,
		result: http.httpRequestResult,
		summary: "An HTTP request from the executor's place in the network.",
	}),
	'http/request/bodyDelta': report({
		family: 'http',
		since: 'v1',
		params: http.httpBodyDeltaParams,
		summary: 'A piece of a streamed response body.',
	}),
	'http/cancel': call({
		family: 'http',
		since: 'longarm',
		params: http.httpCancelParams,
		result: empty,
		summary: 'Gives up a request, streaming or not.',
	}),
	'forward/open': call({
		family: 'http',
		since: 'longarm',
		params: http.forwardOpenParams,
		result: empty,
		summary: 'A TCP connection to a port as the executor sees it.',
	}),
	'forward/read': call({
		family: 'http',
		since: 'longarm',
		params: http.forwardReadParams,
		result: http.forwardReadResult,
		summary: 'What has arrived from the port; waits for it.',
	}),
	'forward/write': call({
		family: 'http',
		since: 'longarm',
		params: http.forwardWriteParams,
		result: empty,
		summary: 'Bytes for the port; eof closes this direction.',
	}),
	'forward/close': call({
		family: 'http',
		since: 'longarm',
		params: http.forwardCloseParams,
		result: empty,
		summary: 'Ends a forwarded connection at once.',
	}),
} as const;
