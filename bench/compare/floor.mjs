#!/usr/bin/env node
// A measuring stick, not a server: the least work Node can do for each metric, without validation, sessions or anything
// kept for replay. See README.md.
import {EventEmitter} from 'node:events';
import {createRequire} from 'node:module';
import net from 'node:net';
import {parseArgs} from 'node:util';
import {fileHandlers} from './floor/files.mjs';
import {lineSender, webSocketSender} from './floor/frames.mjs';
import {processHandlers} from './floor/processes.mjs';

const HELP = `usage: node bench/compare/floor.mjs [options]

  --send raw|ws|naive   how messages leave: frames built by hand in one buffer (default), ws.send of a text put together
                        by hand, or ws.send(JSON.stringify(...))
  --high BYTES          producers pause while more than this is queued on a connection (default 262144)
  --best                with the techniques that pay, see README.md
  --fifo                children write to real pipes (a pool of FIFOs) instead of the socketpairs of child_process
  --stdio               serve one connection on stdin and stdout instead of a port
`;
const MODES = ['raw', 'ws', 'naive'];
/** With --best larger messages are not parsed as JSON: the base64 text is cut out of them. */
const MAX_PARSED_BYTES = 65_536;
const DATA_KEY = '"dataBase64":"';
const QUOTE = 0x22;
const NEWLINE = 0x0a;

const require = createRequire(import.meta.url);
const options = readOptions();
const openFifo = options.fifo ? (await import('./floor/fifo.mjs')).openFifo : undefined;
process.on('SIGTERM', () => process.exit(0));
if (options.stdio) serveStdio();
else listen();

function readOptions() {
	try {
		const {values} = parseArgs({
			options: {
				send: {type: 'string', default: 'raw'},
				high: {type: 'string', default: String(256 * 1024)},
				best: {type: 'boolean', default: false},
				fifo: {type: 'boolean', default: false},
				stdio: {type: 'boolean', default: false},
				help: {type: 'boolean', short: 'h'},
			},
		});
		if (values.help) {
			process.stdout.write(HELP);
			process.exit(0);
		}
		if (!MODES.includes(values.send)) throw new Error(`--send: expected ${MODES.join(', ')}, got ${values.send}`);
		if (!/^\d+$/.test(values.high)) throw new Error(`--high: expected a number of bytes, got ${values.high}`);
		if (values.stdio && values.send !== 'raw') throw new Error('--stdio: goes with --send raw only');
		return {...values, high: Number(values.high)};
	} catch (error) {
		console.error(`error: ${error.message}; see --help`);
		return process.exit(2);
	}
}

function listen() {
	const {WebSocketServer} = require('ws');
	const server = new WebSocketServer({
		host: '127.0.0.1',
		port: 0,
		perMessageDeflate: false,
		skipUTF8Validation: true,
		maxPayload: 0,
	});
	server.on('connection', peer => serve(peer, peer._socket, webSocketSender(peer, peer._socket, options)));
	server.on('listening', () => console.log(`ws://127.0.0.1:${server.address().port}`));
}

/** One message per line. process.stdout would block on a pipe, hence the sockets. */
function serveStdio() {
	const peer = new EventEmitter();
	const input = new net.Socket({fd: 0, readable: true, writable: false});
	const output = new net.Socket({fd: 1, readable: false, writable: true});
	let pieces = [];
	input.on('data', data => {
		for (let at = 0; at < data.length; ) {
			const end = data.indexOf(NEWLINE, at);
			if (end < 0) {
				pieces.push(data.subarray(at));
				break;
			}
			pieces.push(data.subarray(at, end));
			peer.emit('message', pieces.length === 1 ? pieces[0] : Buffer.concat(pieces));
			pieces = [];
			at = end + 1;
		}
	});
	input.on('end', () => {
		peer.emit('close');
		process.exit(0);
	});
	serve(peer, output, lineSender(output, options));
}

function serve(peer, socket, {send, sendBulk}) {
	const paused = new Set();
	const connection = {
		send,
		sendBulk,
		answer: (id, result) => send(`{"id":${id},"result":${JSON.stringify(result)}}`),
		/** An answer with bulk data between two pieces of JSON. */
		answerBulk: (id, before, data, after) => sendBulk(`{"id":${id},"result":{${before}"`, data, `"${after}}}`),
		/** Pauses a producer that is ahead of the connection. */
		choke(source) {
			if (socket.writableLength <= options.high) return;
			source.pause();
			paused.add(source);
		},
	};
	socket.on('drain', () => {
		for (const source of paused) source.resume();
		paused.clear();
	});
	const processes = processHandlers(connection, {
		isBest: options.best,
		isNaive: options.send === 'naive',
		openFifo,
		peer,
	});
	const handlers = {
		initialize: id => connection.answer(id, {sessionId: 'floor'}),
		'environment/status': id => connection.answer(id, {status: 'ready'}),
		...processes,
		...fileHandlers(connection, {isBest: options.best}),
	};
	peer.on('message', data => {
		const {id, method, params} = options.best && data.length > MAX_PARSED_BYTES ? parseLarge(data) : JSON.parse(data);
		if (id === undefined) return;
		const handle = handlers[method];
		if (!handle) {
			send(`{"id":${id},"error":{"code":-32601,"message":"no ${method}"}}`);
			return;
		}
		const fail = error => send(JSON.stringify({id, error: {code: -32603, message: error.message}}));
		try {
			handle(id, params)?.catch?.(fail);
		} catch (error) {
			fail(error);
		}
	});
}

function parseLarge(data) {
	const from = data.indexOf(DATA_KEY) + DATA_KEY.length;
	const to = data.indexOf(QUOTE, from);
	const message = JSON.parse(data.latin1Slice(0, from) + data.utf8Slice(to, data.length));
	message.params.dataBase64 = data.latin1Slice(from, to);
	return message;
}
