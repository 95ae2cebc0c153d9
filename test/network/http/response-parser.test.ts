import {expect, test} from 'vitest';
import type {HeaderField} from '../../../src/network/http/response-head.js';
import {ResponseParser} from '../../../src/network/http/response-parser.js';

interface Parsed {
	readonly status: number | undefined;
	readonly headers: readonly HeaderField[];
	readonly body: string;
	/** Bytes behind the response, if there are any. */
	readonly hasRest: boolean;
	readonly ending: string;
}

/** Parses a response that comes in pieces of so many bytes; the origin closes the connection behind them. */
function parse(text: string, method = 'GET', pieceBytes = Number.POSITIVE_INFINITY): Parsed {
	let status: number | undefined;
	let headers: readonly HeaderField[] = [];
	let body = '';
	let hasRest = false;
	const parser = new ResponseParser(method, {
		onHead: head => {
			({status, headers} = head);
		},
		onBody: bytes => {
			body += bytes.toString('latin1');
		},
	});
	let ending: string;
	try {
		const bytes = Buffer.from(text, 'latin1');
		for (let from = 0; from < bytes.length && !parser.isDone; from += pieceBytes) {
			hasRest = !parser.push(Buffer.from(bytes.subarray(from, from + pieceBytes)));
		}
		ending = parser.finish() ? 'complete' : 'too early';
	} catch (error) {
		ending = (error as Error).message;
	}
	return {status, headers, body, hasRest, ending};
}

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;

test.each([1, 2, 7, Number.POSITIVE_INFINITY])('a response in pieces of %s bytes is the same response', size => {
	const lines = 'HTTP/1.1 103 Early\r\nx: y\r\n\r\n\r\nHTTP/1.1 200 OK\r\nX-One: \t1 \r\nx-one:2\r\n';
	const chunks = '3;a=b;c="d\\"e"\r\nabc\r\n0A\r\n0123456789\r\n0\r\nx-trailer: 1\r\n\r\n';
	expect(parse(`${lines}transfer-encoding: gzip, Chunked\r\n\r\n${chunks}`, 'GET', size)).toEqual({
		status: 200,
		headers: [
			{name: 'x-one', value: '1'},
			{name: 'x-one', value: '2'},
			{name: 'transfer-encoding', value: 'gzip, Chunked'},
		],
		body: 'abc0123456789',
		hasRest: false,
		ending: 'complete',
	});
});

test('many small chunks that come together are one piece, large ones are left where they are', () => {
	const pieces: number[] = [];
	const parser = new ResponseParser('GET', {onHead: () => {}, onBody: bytes => pieces.push(bytes.length)});
	parser.push(Buffer.from(`${CHUNKED}${'2\r\nab\r\n'.repeat(100)}4000\r\n${'x'.repeat(0x40_00)}\r\n0\r\n\r\n`));
	expect([pieces, parser.isDone]).toEqual([[200, 0x40_00], true]);
});

test.each([
	['204', 'GET', 'content-length: 5\r\n'],
	['304', 'GET', 'transfer-encoding: chunked\r\n'],
	['200', 'HEAD', 'content-length: 5\r\n'],
	['200', 'GET', 'content-length: 0\r\n'],
])('status %s to %s with %j has no body, and bytes behind it belong to nothing', (status, method, header) => {
	const head = `HTTP/1.1 ${status} X\r\n${header}\r\n`;
	expect(parse(head, method)).toMatchObject({body: '', hasRest: false, ending: 'complete'});
	expect(parse(`${head}stray`, method)).toMatchObject({body: '', hasRest: true, ending: 'complete'});
});

test('without a length the body ends with the connection', () => {
	for (const header of ['', 'transfer-encoding: identity\r\n', 'transfer-encoding: chunked, gzip\r\n']) {
		expect(parse(`${OK}${header}\r\nall of it`)).toMatchObject({body: 'all of it', ending: 'complete'});
	}
});

test.each([
	['content-length: 3\r\ntransfer-encoding: chunked', 'both Content-Length and Transfer-Encoding'],
	['transfer-encoding: chunked\r\ncontent-length: 3', 'both Content-Length and Transfer-Encoding'],
	['content-length: 3\r\ncontent-length: 3', 'Content-Length given more than once'],
	['content-length: +3', 'Invalid character in Content-Length'],
	['content-length: -3', 'Invalid character in Content-Length'],
	['content-length: 3, 3', 'Invalid character in Content-Length'],
	['content-length: 0x3', 'Invalid character in Content-Length'],
	['content-length: 3\t', 'Invalid character in Content-Length'],
	['content-length:', 'Invalid character in Content-Length'],
	['content-length: 9007199254740993', 'Content-Length overflow'],
	['transfer-encoding: chunked\t', 'Tab in Transfer-Encoding'],
	['x: a\r\n folded', 'Invalid header token'],
	['x : space before the colon', 'Invalid header token'],
	['no colon', 'Invalid header token'],
	['x: bare\nline: feed', 'Invalid character in the response head'],
	['x: bare\rreturn', 'Invalid character in the response head'],
	['x: nul\0', 'Invalid character in the response head'],
])('the header %j is refused', (header, reason) => {
	expect(parse(`${OK}${header}\r\n\r\nabc`).ending).toBe(`Parse Error: ${reason}`);
	expect(parse(`${OK}${header}\r\n\r\nabc`, 'GET', 1).ending).toBe(`Parse Error: ${reason}`);
});

test.each([
	['nonsense', 'Expected HTTP/, RTSP/ or ICE/'],
	['HTTP/2.0 200 OK', 'Invalid status line'],
	['HTTP/1.1 20 OK', 'Invalid status line'],
	['HTTP/1.1  200 OK', 'Invalid status line'],
	['HTTP/1.1 099 OK', 'Invalid status line'],
	['HTTP/1.1 200\n', 'Invalid character in the response head'],
	[`HTTP/1.1 200 ${'x'.repeat(300 * 1024)}`, 'Header overflow'],
])('a head that begins wrongly is refused before it is complete, case %#', (start, reason) => {
	expect(parse(start).ending).toBe(`Parse Error: ${reason}`);
	expect(parse(start, 'GET', 1000).ending).toBe(`Parse Error: ${reason}`);
});

test.each([
	['-1\r\n', 'Invalid character in chunk size'],
	['+1\r\n', 'Invalid character in chunk size'],
	['0x1\r\n', 'Invalid character in chunk size'],
	['\r\n', 'Invalid character in chunk size'],
	['1 \r\n', 'Invalid character in chunk size'],
	['ffffffffffffffff\r\n', 'Chunk size overflow'],
	['1000000000000\r\n', undefined],
	['1\na', 'Missing expected CR'],
	['1\r\nabc', 'Expected LF after chunk data'],
	[`1;${'x'.repeat(5000)}`, 'Chunk line overflow'],
	[`1;${'x'.repeat(4000)}\r\na\r\n`.repeat(5), 'Chunk extensions overflow'],
	['1;a="\x01"\r\n', 'Invalid character in chunk extensions'],
	['0\r\nx y: 1\r\n\r\n', 'Invalid header token'],
	[`0\r\n${`x: ${'y'.repeat(1000)}\r\n`.repeat(300)}`, 'Header overflow'],
])('a chunk that is framed wrongly or too large is refused, case %#', (chunk, reason) => {
	expect(parse(CHUNKED + chunk).ending).toBe(reason === undefined ? 'too early' : `Parse Error: ${reason}`);
});

test('preliminary responses are bounded, and none may close the connection', () => {
	const early = 'HTTP/1.1 102 Wait\r\n\r\n';
	expect(parse(`${early.repeat(32)}${OK}\r\n`)).toMatchObject({status: 200, ending: 'complete'});
	expect(parse(`${early.repeat(33)}${OK}\r\n`).ending).toBe('the origin sent more than 32 preliminary responses');
	expect(parse('HTTP/1.1 100 Continue\r\nconnection: close\r\n\r\n').ending).toMatch('closes the connection');
});
