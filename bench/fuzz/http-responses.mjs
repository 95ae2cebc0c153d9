// Random HTTP responses, most of them nearly right, cut into random pieces.

const STATUS_LINES = [
	...Array(12).fill('HTTP/1.1 200 OK'),
	'HTTP/1.0 200 OK',
	'HTTP/1.1 204 No Content',
	'HTTP/1.1 304 Not Modified',
	'HTTP/1.1 404 Not Found',
	'HTTP/1.1 500',
	'HTTP/1.1 200 ',
	'HTTP/1.1 999 x',
	'HTTP/1.1 100 Continue',
	'HTTP/1.1 103 Early Hints',
	'HTTP/1.1 101 Switching Protocols',
	'HTTP/0.9 200 OK',
	'HTTP/2.0 200 OK',
	'HTTP/1.2 200 OK',
	'HTTP/1.1  200 OK',
	'HTTP/1.1 20 OK',
	'HTTP/1.1 2000 OK',
	'HTTP/1.1 099 OK',
	'http/1.1 200 OK',
	'HTTP/1.1 200 caf\xe9',
	'HTTP/1.1\t200 OK',
	'ICE/1.0 200 OK',
	'RTSP/1.0 200 OK',
];
const HEADERS = [
	'x-one: 1',
	'X-Two:2',
	'x-three:',
	'x-four: a  b\t',
	'set-cookie: a=1',
	'Set-Cookie: b=2',
	'x-odd: caf\xe9',
	'x-del: \x7f',
	'x-nul: a\0b',
	'x space: 1',
	'x-before : 1',
	' folded',
	'\tfolded',
	': no name',
	'no colon',
	'x-fold: a\r\n b',
	'x-lf: a\nx-b: c',
	'x-cr: a\rb',
	'connection: close',
	'connection: keep-alive',
	'Connection: upgrade',
	'upgrade: x',
	'keep-alive: timeout=5',
	'proxy-connection: close',
	'trailer: x',
	'x-"quoted": 1',
	'x-colon:: 1',
	'location: /x',
	'x-pad:   \t  ',
];
const LENGTHS = n => [
	...Array(12).fill(`content-length: ${n}`),
	`Content-Length:${n}  `,
	`content-length: 0${n}`,
	`content-length: +${n}`,
	`content-length: -${n}`,
	`content-length: ${n}, ${n}`,
	`content-length: ${n}\r\ncontent-length: ${n}`,
	'content-length:',
	`content-length: ${n} ${n}`,
	'content-length: 18446744073709551616',
	'content-length: 9007199254740993',
	`content-length: 0x${n}`,
	`content-length: ${n}\r\ntransfer-encoding: chunked`,
	`transfer-encoding: identity\r\ncontent-length: ${n}`,
	`content-length: ${n}\t`,
];
const CODINGS = [
	...Array(12).fill('transfer-encoding: chunked'),
	'Transfer-Encoding: Chunked',
	'transfer-encoding: gzip, chunked',
	'transfer-encoding: chunked, gzip',
	'transfer-encoding: gzip',
	'transfer-encoding: identity',
	'transfer-encoding: chunked, chunked',
	'transfer-encoding: chunked\r\ntransfer-encoding: chunked',
	'transfer-encoding: gzip\r\ntransfer-encoding: chunked',
	'transfer-encoding: chunked\r\ntransfer-encoding: gzip',
	'transfer-encoding:',
	'transfer-encoding: xchunked',
	'transfer-encoding: chunkedx',
	'transfer-encoding: chunked ',
	'transfer-encoding: ,chunked',
	'transfer-encoding: chunked,',
	'transfer-encoding: "chunked"',
	'transfer-encoding: chunked;q=1',
	'transfer-encoding: chunked\r\ncontent-length: 3',
	'transfer-encoding: gzip,chunked ',
	'transfer-encoding: gzip chunked',
];
const EXTENSIONS = [
	...Array(10).fill(''),
	';a',
	';a=b',
	';a="b"',
	';a="b\\"c"',
	';',
	';=b',
	';a=',
	';a=b;c=d',
	'; a=b',
	';a =b',
	' ;a',
	' ',
	'\t',
	';a="b',
	';a="b"c',
	';a=\x01',
	';a="\x01"',
	';a="\xe9"',
	';\xe9',
	';a b',
	';a=b ',
	';"a"',
	';a;;b',
	';a="b";c',
	';a=""',
];
const SIZES = n => [
	...Array(12).fill(n.toString(16)),
	`0${n.toString(16)}`,
	n.toString(16).toUpperCase(),
	`+${n}`,
	`-${n}`,
	`0x${n.toString(16)}`,
	'',
	'g',
	'ffffffffffffffff',
	'10000000000000000',
	'20000000000000',
	`00000000000000000${n.toString(16)}`,
];
const BYTES = [
	'\r',
	'\n',
	'\r\n',
	'\0',
	' ',
	'\t',
	':',
	';',
	',',
	'0',
	'1',
	'a',
	'\x80',
	'\xff',
	'"',
	'=',
	'\x0b',
	'HTTP/1.1 200 OK\r\n',
];

/** Small and fast, the same numbers for the same seed. */
export function seededRandom(seed) {
	let state = seed >>> 0;
	return limit => {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit) | 0;
	};
}

/** Method of a request, and pieces of a response to it. */
export function randomResponse(random) {
	const pick = all => all[random(all.length)];
	const body = 'abcdefghijklmnopqrstuvwxyz'.repeat(1 + random(3)).slice(0, random(60));
	let text = random(20) === 0 ? pick(['\r\n', '\n', '\r\n\r\n', '\r']) : '';
	if (random(12) === 0) text += 'HTTP/1.1 100 Continue\r\nx: y\r\n\r\n';
	const framing = random(3);
	const headers = Array.from({length: random(5)}, () => pick(random(8) === 0 ? HEADERS : HEADERS.slice(0, 7)));
	if (framing === 0) headers.splice(random(headers.length + 1), 0, pick(LENGTHS(body.length)));
	if (framing === 1) headers.splice(random(headers.length + 1), 0, pick(CODINGS));
	text += `${random(5) === 0 ? pick(STATUS_LINES) : STATUS_LINES[0]}\r\n${headers.map(each => `${each}\r\n`).join('')}\r\n`;
	text += framing === 1 ? chunked(body, random, pick) : body;
	if (random(10) === 0) text += pick(['extra', 'HTTP/1.1 200 OK\r\n\r\n', '\r\n', '\0']);
	for (let count = random(4) === 0 ? 1 + random(3) : 0; count > 0; count--) text = damage(text, random, pick);
	return {method: random(8) === 0 ? 'HEAD' : 'GET', pieces: cut(Buffer.from(text, 'latin1'), random)};
}

function chunked(body, random, pick) {
	let text = '';
	for (let rest = body; rest !== ''; ) {
		const size = 1 + random(rest.length);
		const isOdd = random(20) === 0;
		text += `${isOdd ? pick(SIZES(size)) : size.toString(16)}${random(8) === 0 ? pick(EXTENSIONS) : ''}\r\n${rest.slice(0, size)}`;
		text += random(30) === 0 ? pick(['', '\n', '\r', 'x\r\n']) : '\r\n';
		rest = rest.slice(size);
	}
	const trailers = random(5) === 0 ? `${pick(HEADERS)}\r\n` : '';
	return `${text}${random(15) === 0 ? pick(['', '00', '0;a', '0 ', '-0']) : '0'}\r\n${trailers}${random(15) === 0 ? '' : '\r\n'}`;
}

function damage(text, random, pick) {
	const at = random(text.length + 1);
	const kind = random(4);
	if (kind === 0) return text.slice(0, at) + pick(BYTES) + text.slice(at);
	if (kind === 1) return text.slice(0, at) + text.slice(at + 1 + random(3));
	if (kind === 2) return text.slice(0, at) + pick(BYTES) + text.slice(at + 1);
	return text.slice(0, at);
}

function cut(bytes, random) {
	const pieces = [];
	const isFine = random(10) === 0;
	for (let from = 0; from < bytes.length; ) {
		const to = random(2) === 0 && !isFine ? bytes.length : from + 1 + random(isFine ? 2 : 40);
		pieces.push(bytes.subarray(from, to));
		from = to;
	}
	return pieces;
}
