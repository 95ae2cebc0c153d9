import {MIB} from '../lib/measure.mjs';
import {CLOSE, CONTINUATION, frame, PING, TEXT} from '../lib/web-socket-frames.mjs';
import {MAX_FRAME, MAX_MESSAGE} from './limits.mjs';
import {OTHER_NAMES, REQUESTS} from './methods.mjs';
import {BAD_UTF8} from './values.mjs';

/** How often 64 MiB are sent, compared with the others. */
const RARELY = 0.15;
const NOTIFICATIONS = [...REQUESTS, ...OTHER_NAMES.filter(name => name !== 'initialized')];
const SOME = Buffer.from('{"id":1,"method":"environment/status"}');

/** Something after which the server has to hang up, as it goes over the wire. */
export function fatal(peer) {
	const {random, transport} = peer.episode;
	const ways = [...messages(peer), ...(transport === 'stdio' ? lines(random) : frames(random))];
	const [name, make] = random.pick(ways.filter(([, , odds = 1]) => random.chance(odds)));
	return {name, bytes: make()};
}

function messages({episode: {random}, link, state, talked}) {
	const made = [
		['unknown notification', JSON.stringify({method: random.pick(NOTIFICATIONS)})],
		['notification of the server', '{"method":"process/exited","params":{"processId":"p1","seq":1,"exitCode":0}}'],
		['stray result', `{"id":${random.pick(['1', '0', '-1', '1099511627776', '"x"'])},"result":{}}`],
		['stray error', `{"id":${random.below(100)},"error":{"code":-32000,"message":"JSON-RPC transport closed"}}`],
	];
	// Otherwise some mutated message may have been a good `initialize`.
	if (state === 'new' && !talked) made.push(['initialized too early', '{"method":"initialized"}']);
	return made.map(([name, payload]) => [name, () => link.pack({payload}, random)]);
}

function lines(random) {
	return [
		['no UTF-8', () => Buffer.concat([badUtf8(random), Buffer.from('\n')])],
		['line too long', () => Buffer.alloc(MAX_MESSAGE + 1, 'x'), RARELY],
	];
}

function frames(random) {
	return [
		['no UTF-8 in text', () => frame(Buffer.concat([SOME, badUtf8(random)]), {})],
		['reserved opcode', () => frame(SOME, {opcode: random.pick([3, 7, 11, 15])})],
		['reserved bit', () => frame(SOME, {reserved: random.pick([0x40, 0x20, 0x10])})],
		['no mask', () => frame(SOME, {masked: false})],
		['continuation of nothing', () => frame(SOME, {opcode: CONTINUATION})],
		['text inside a message', () => Buffer.concat([frame(SOME, {final: false}), frame(SOME)])],
		['fragmented ping', () => frame(Buffer.alloc(0), {opcode: PING, final: false})],
		['ping too long', () => frame(Buffer.alloc(126), {opcode: PING})],
		['close', () => frame(Buffer.from('03e8', 'hex'), {opcode: CLOSE})],
		['close without a code', () => frame(Buffer.alloc(0), {opcode: CLOSE})],
		['close with half a code', () => frame(Buffer.alloc(1), {opcode: CLOSE})],
		['close with a bad code', () => frame(Buffer.from(random.pick(['0000', '03ec', 'ffff']), 'hex'), {opcode: CLOSE})],
		['frame too long', () => frame(SOME, {length: random.pick([MAX_FRAME + 1, MAX_MESSAGE * 2, 2 ** 52])})],
		['message too long', tooLong, RARELY],
	];
}

/** Bytes that no later byte makes good. */
function badUtf8(random) {
	return Buffer.from(random.pick(BAD_UTF8.slice(0, 11)), 'hex');
}

function tooLong() {
	const piece = Buffer.alloc(8 * MIB, ' ');
	const opcodes = [TEXT, ...Array(8).fill(CONTINUATION)];
	return Buffer.concat(opcodes.map((opcode, index) => frame(piece, {opcode, final: index === opcodes.length - 1})));
}
