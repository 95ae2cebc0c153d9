// Differential fuzzing of the HTTP client: random and damaged responses, in random pieces, go through our parser and
// through node:http (llhttp). Both have to see the same status, headers and body; we may refuse what llhttp takes, for
// the reasons listed below and no other, and never take what llhttp refuses.
//   npm run build && node bench/http-responses.mjs [--cases 200000] [--seed 1]

import {request} from 'node:http';
import {Duplex} from 'node:stream';
import {ResponseParser} from '../dist/network/http/response-parser.js';
import {randomResponse, seededRandom} from './fuzz/http-responses.mjs';
import {readOptions} from './lib/options.mjs';

/** Reasons why we refuse what llhttp takes: each is a form that two readers could understand differently, or a bound. */
const STRICTER = [
	// Control characters in the reason phrase, and a lone CR or LF.
	'Parse Error: Invalid character in the response head',
	// Versions other than 1.0 and 1.1, and statuses below 100.
	'Parse Error: Invalid status line',
	// Folded lines.
	'Parse Error: Invalid header token',
	// RTSP and ICE, whose responses llhttp takes for HTTP.
	'Parse Error: Expected HTTP/, RTSP/ or ICE/',
	// Beyond 2^53 or 13 digits.
	'Parse Error: Content-Length overflow',
	'Parse Error: Chunk size overflow',
	// llhttp does not see `chunked` beside a tab.
	'Parse Error: Tab in Transfer-Encoding',
	// Without a name, or with blanks around it.
	'Parse Error: Invalid character in chunk extensions',
	'the origin switched to another protocol',
	'the origin sent more than 32 preliminary responses',
];

const values = readOptions('Random and damaged HTTP responses: our parser beside that of node:http.', {
	cases: {default: 200_000, help: 'responses to try'},
	seed: {default: 1, help: 'of the random numbers'},
});
const random = seededRandom(values.seed);
const counts = {both: 0, neither: 0};
const stricter = new Map();
const shown = new Set();
let violations = 0;
for (let index = 0; index < values.cases; index++) {
	const {method, pieces} = randomResponse(random);
	const ours = parseOurselves(method, pieces);
	const theirs = await parseByNode(method, pieces);
	const problem = compare(ours, theirs);
	if (!problem) continue;
	violations++;
	if (!shown.has(problem))
		console.log(
			`VIOLATION ${problem}\n`,
			method,
			pieces.map(each => each.toString('latin1')),
			ours,
			theirs,
		);
	shown.add(problem);
}
console.log({
	cases: values.cases,
	seed: values.seed,
	...counts,
	stricter: Object.fromEntries(stricter),
	violations,
});
process.exitCode = violations > 0 ? 1 : 0;

function compare(ours, theirs) {
	if (ours.isComplete && theirs.isComplete) {
		counts.both++;
		return describe(ours) === describe(theirs) ? undefined : 'different responses';
	}
	if (!ours.isComplete && !theirs.isComplete) {
		counts.neither++;
		// Bytes before the damage may be cut at different places, but never differ.
		const [short, long] = [ours.body, theirs.body].sort((one, other) => one.length - other.length);
		return long.startsWith(short) ? undefined : 'different beginnings';
	}
	if (ours.isComplete) return `taken although llhttp says: ${theirs.error}`;
	if (!STRICTER.includes(ours.error)) return `refused without a reason on the list: ${ours.error}`;
	stricter.set(ours.error, (stricter.get(ours.error) ?? 0) + 1);
	return undefined;
}

function describe({status, headers, body}) {
	return JSON.stringify([status, headers, body]);
}

function parseOurselves(method, pieces) {
	const seen = {isComplete: false, status: undefined, headers: [], body: '', error: undefined};
	const parser = new ResponseParser(method, {
		onHead: ({status, headers}) =>
			Object.assign(seen, {status, headers: headers.map(({name, value}) => [name, value])}),
		onBody: bytes => {
			seen.body += bytes.toString('latin1');
		},
	});
	try {
		for (const piece of pieces) {
			// In memory of its own: the parser writes to it.
			parser.push(Buffer.from(piece));
			if (parser.isDone) break;
		}
		seen.isComplete = parser.isDone || parser.finish();
		if (!seen.isComplete) seen.error = 'early end';
	} catch (error) {
		seen.error = error.message;
	}
	return seen;
}

function parseByNode(method, pieces) {
	const seen = {isComplete: false, status: undefined, headers: [], body: '', error: undefined};
	return new Promise(resolve => {
		const socket = new Duplex({read() {}, write: (_chunk, _encoding, done) => done()});
		const sent = request({method, createConnection: () => socket, maxHeaderSize: 256 * 1024});
		sent.on('response', response => {
			seen.status = response.statusCode;
			for (let index = 0; index < response.rawHeaders.length; index += 2) {
				seen.headers.push([response.rawHeaders[index].toLowerCase(), response.rawHeaders[index + 1]]);
			}
			response.on('data', bytes => {
				seen.body += bytes.toString('latin1');
			});
			response.on('end', () => {
				seen.isComplete = response.complete;
			});
			response.on('error', error => {
				seen.error ??= error.message;
			});
		});
		sent.on('upgrade', () => socket.destroy());
		sent.on('error', error => {
			seen.error ??= error.message;
		});
		sent.on('close', () => resolve(seen));
		sent.on('finish', () => {
			for (const piece of pieces) socket.push(Buffer.from(piece));
			socket.push(null);
		});
		sent.end();
	});
}
