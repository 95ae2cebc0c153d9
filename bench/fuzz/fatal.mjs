import {MAX_FRAME, MAX_MESSAGE, MiB} from './bounds.mjs';
import {CLOSE, CONTINUATION, frame, PING, TEXT} from './frames.mjs';
import {OTHER_NAMES, REQUESTS} from './methods.mjs';
import {BAD_UTF8} from './values.mjs';

/** How often 64 MiB are sent, compared with the others. */
const RARELY = 0.15;

/** Something after which the server has to hang up, as it goes over the wire. */
export function fatal(peer) {
	const {story, link, state} = peer;
	const {random, transport} = story;
	const notification = JSON.stringify({
		method: random.pick([...REQUESTS, ...OTHER_NAMES.filter(name => name !== 'initialized')]),
	});
	const messages = {
		'unknown notification': notification,
		'a notification of the server': '{"method":"process/exited","params":{"processId":"p1","seq":1,"exitCode":0}}',
		'stray result': `{"id":${random.pick([1, 0, -1, 2 ** 40, '"x"'])},"result":${random.pick(['null', '{}', '1'])}}`,
		'stray error': `{"id":${random.int(100)},"error":{"code":-32000,"message":"JSON-RPC transport closed"}}`,
	};
	// Nobody knows whether some mutated message was a good `initialize`, unless the handshake is over.
	if (state === 'new' && !peer.talked) messages['initialized too early'] = '{"method":"initialized"}';
	const packed = Object.entries(messages).map(([name, payload]) => [name, () => link.pack({payload}, random)]);
	const bytes = () => Buffer.from(random.pick(BAD_UTF8.slice(0, 11)), 'hex');
	const some = Buffer.from('{"id":1,"method":"environment/status"}');
	const others =
		transport === 'stdio'
			? [
					['no UTF-8', () => Buffer.concat([bytes(), Buffer.from('\n')])],
					['line too long', () => Buffer.alloc(MAX_MESSAGE + 1, 'x'), RARELY],
				]
			: [
					['no UTF-8 in text', () => frame(Buffer.concat([some, bytes()]), {})],
					['reserved opcode', () => frame(some, {opcode: random.pick([3, 7, 11, 15])})],
					['reserved bit', () => frame(some, {reserved: random.pick([0x40, 0x20, 0x10])})],
					['no mask', () => frame(some, {masked: false})],
					['continuation of nothing', () => frame(some, {opcode: CONTINUATION})],
					['text inside a message', () => Buffer.concat([frame(some, {final: false}), frame(some, {})])],
					['fragmented ping', () => frame(Buffer.alloc(0), {opcode: PING, final: false})],
					['ping too long', () => frame(Buffer.alloc(126), {opcode: PING})],
					['close', () => frame(Buffer.from([0x03, 0xe8]), {opcode: CLOSE})],
					['close without a code', () => frame(Buffer.alloc(0), {opcode: CLOSE})],
					[
						'close with a bad code',
						() => frame(Buffer.from(random.pick(['0000', '03ec', 'ffff']), 'hex'), {opcode: CLOSE}),
					],
					['close with half a code', () => frame(Buffer.alloc(1), {opcode: CLOSE})],
					['frame too long', () => frame(some, {length: random.pick([MAX_FRAME + 1, MAX_MESSAGE * 2, 2 ** 52])})],
					['message too long', () => Buffer.concat(tooLong()), RARELY],
				];
	const chosen = random.pick([...packed, ...others].filter(([, , odds = 1]) => odds === 1 || random.chance(odds)));
	return {name: chosen[0], bytes: chosen[1]()};
}

function tooLong() {
	const piece = Buffer.alloc(8 * MiB, ' ');
	return Array.from({length: 9}, (_, index) =>
		frame(piece, {final: index === 8, opcode: index === 0 ? TEXT : CONTINUATION}),
	);
}
