// Cases of bench/relay-fuzz.mjs, made from a seed alone.
import {isDeepStrictEqual} from 'node:util';
import {Relay} from '../../dist/hub/relay/relay.js';
import {decodeRelayFrame, encodeRelayFrame, RelayFrameError} from '../../dist/protocol/relay/relay-frame.js';
import {nodeNoiseCrypto} from '../../dist/shared/node/node-noise-crypto.js';
import {createNoiseKeys, NoiseInitiator, NoiseResponder, publicKeysOf} from '../../dist/shared/noise/hybrid-ik.js';
import {nodeMessageCodec} from '../../dist/transports/node/relay/node-message-codec.js';
import {ChannelTransport} from '../../dist/transports/relay/channel-transport.js';
import {seededRandom} from './http-responses.mjs';

const MAX_VIOLATIONS = 20;
const MAX_STREAMS = 128;
const RANDOM_STEPS = 2 ** 30;
/** One case in so many is a whole handshake, which takes milliseconds. */
const HANDSHAKE_EVERY = 500;
/** Cases that share one channel, or one relay. */
const EPISODE_CASES = 500;
const PROLOGUE = new TextEncoder().encode('fuzz');
const KINDS = ['data', 'resume', 'reset', 'handshake', 'other'];

/** Runs so many cases; settles with what came of them, and with every promise that was broken. */
export async function fuzzRelay({count, seed}) {
	const next = seededRandom(seed);
	const random = () => next(RANDOM_STEPS) / RANDOM_STEPS;
	const outcomes = {};
	const violations = [];
	const hands = {executor: createNoiseKeys(nodeNoiseCrypto), harness: createNoiseKeys(nodeNoiseCrypto)};
	let episode;
	for (let done = 0; done < count && violations.length < MAX_VIOLATIONS; done++) {
		if (done % EPISODE_CASES === 0) episode = {channel: openChannel(hands), relay: openRelay()};
		const [name, run] =
			done % HANDSHAKE_EVERY === 0
				? ['handshake', () => tryHandshake(random, hands)]
				: pick(random, [
						['frame', () => tryFrame(random)],
						['relay', () => tryRelay(random, episode.relay)],
						['channel', () => tryChannel(random, episode.channel)],
					]);
		try {
			const outcome = `${name}: ${run()}`;
			outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
		} catch (error) {
			violations.push(`case ${done} of seed ${seed}, ${name}: ${error.stack}`);
		}
		// Timers and sockets of others run, too.
		if (done % EPISODE_CASES === 0) await new Promise(resolve => setImmediate(resolve));
	}
	return {count, outcomes, violations};
}

function tryFrame(random) {
	const bytes = chance(random, 0.2) ? randomBytes(random, 200) : mutate(random, encodeRelayFrame(randomFrame(random)));
	let frame;
	try {
		frame = decodeRelayFrame(bytes);
	} catch (error) {
		if (error instanceof RelayFrameError) return 'refused';
		throw error;
	}
	const again = decodeRelayFrame(encodeRelayFrame(frame));
	if (!isDeepStrictEqual(toComparable(again), toComparable(frame))) throw new Error('decoded to something else');
	return 'taken';
}

/** A relay with one executor and three clients, whose sockets keep what they are sent. */
function openRelay() {
	const relay = new Relay({changed() {}});
	const executorSocket = fakeSocket();
	const executor = relay.addExecutor(
		{tenant: 'default', environmentId: 'e', registrationId: 'r', tokenId: 't'},
		executorSocket,
	);
	const clients = Array.from({length: 3}, () => {
		const socket = fakeSocket();
		return {socket, end: relay.addHarness(executor, 't', socket), claimed: new Set()};
	});
	return {relay, executor, executorSocket, clients};
}

function tryRelay(random, {relay, executor, executorSocket, clients}) {
	const client = pick(random, clients);
	const frame = randomFrame(random, ids(clients));
	const whole = encodeRelayFrame(frame);
	const bytes = chance(random, 0.5) ? whole : mutate(random, whole);
	for (const {socket} of [...clients, {socket: executorSocket}]) socket.sent.length = 0;
	const before = new Map(executor.streams);
	if (chance(random, 0.5)) {
		relay.receiveFromHarness(client.end, bytes);
		for (const [stream, holder] of before) {
			if (holder !== client.end && executor.streams.get(stream) !== holder) throw new Error('a stream was taken away');
		}
	} else {
		relay.receiveFromExecutor(executor, bytes);
		for (const {socket, end} of clients) {
			for (const sent of socket.sent) {
				if (before.get(decodeRelayFrame(sent).streamId) !== end) throw new Error('a frame went to a stranger');
			}
		}
	}
	if (executor.streams.size > MAX_STREAMS) throw new Error('too many streams');
	const passed = executorSocket.sent.length + clients.reduce((sum, {socket}) => sum + socket.sent.length, 0);
	if (chance(random, 0.01)) relay.removeHarness(client.end);
	return passed > 0 ? 'passed on or answered' : 'dropped';
}

/** Both ends of a channel, with the frames on their way in the hands of the relay. */
function openChannel({executor, harness}) {
	const initiator = new NoiseInitiator(nodeNoiseCrypto, {
		self: harness,
		responder: publicKeysOf(executor),
		prologue: PROLOGUE,
		payload: new Uint8Array(0),
	});
	const responder = new NoiseResponder(nodeNoiseCrypto, {
		self: executor,
		prologue: PROLOGUE,
		message: initiator.message,
	});
	const {message, ciphers} = responder.answer();
	const records = [];
	const sender = new ChannelTransport(initiator.finish(message), carrier(records), nodeMessageCodec);
	const receiver = new ChannelTransport(ciphers, carrier([]), nodeMessageCodec);
	const state = {sender, receiver, records, old: [], sent: [], received: [], checked: 0, isClosed: false};
	receiver.open({
		message: text => state.received.push(text),
		unreadable: () => state.received.push('unreadable'),
		drained() {},
		closed: () => {
			state.isClosed = true;
		},
	});
	return state;
}

function tryChannel(random, state) {
	const {sender, receiver, records, old, sent, received} = state;
	if (state.isClosed) return 'ended';
	const text = JSON.stringify({index: sent.length, padding: 'x'.repeat(random() < 0.005 ? 100_000 : random() * 50)});
	sent.push(text);
	sender.send(text);
	while (records.length > 0) {
		const record = records.shift();
		old.push(record);
		if (old.length > 20) old.shift();
		// Honest most of the time: an attack ends the channel, and with it the episode.
		const attack = random();
		if (attack < 0.001) continue;
		if (attack < 0.002) receiver.receive(record.seq, mutate(random, record.sealed));
		else if (attack < 0.003) receiver.receive(Math.floor(random() * 2 ** 32), record.sealed);
		else receiver.receive(record.seq, record.sealed);
		if (attack > 0.9) {
			const replayed = pick(random, old);
			receiver.receive(replayed.seq, replayed.sealed);
		}
	}
	for (; state.checked < received.length; state.checked++) {
		if (received[state.checked] === sent[state.checked]) continue;
		throw new Error('a message that was not sent, or not then');
	}
	const isWhole = received.length === sent.length;
	return state.isClosed ? 'ended' : isWhole ? 'delivered' : 'waiting for a lost record';
}

function tryHandshake(random, {executor, harness}) {
	const initiator = new NoiseInitiator(nodeNoiseCrypto, {
		self: harness,
		responder: publicKeysOf(executor),
		prologue: PROLOGUE,
		payload: randomBytes(random, 64),
	});
	const isFirst = chance(random, 0.5);
	const message = isFirst ? mutate(random, initiator.message) : initiator.message;
	const isChanged = !Buffer.from(message).equals(Buffer.from(initiator.message));
	let responder;
	try {
		responder = new NoiseResponder(nodeNoiseCrypto, {self: executor, prologue: PROLOGUE, message});
	} catch {
		if (isChanged) return 'first message refused';
		throw new Error('a good first message was refused');
	}
	if (isChanged) throw new Error('a changed first message was taken');
	const {message: answer} = responder.answer();
	const changed = mutate(random, answer);
	const isSame = Buffer.from(changed).equals(Buffer.from(answer));
	try {
		initiator.finish(changed);
	} catch {
		if (!isSame) return 'second message refused';
		throw new Error('a good second message was refused');
	}
	if (!isSame) throw new Error('a changed second message was taken');
	return 'completed';
}

function carrier(records) {
	return {
		peer: 'fuzz',
		backlog: 0,
		sendRecord: (seq, sealed) => records.push({seq, sealed: Buffer.concat(sealed)}),
		beforeFlush: flush => flush(),
		end() {},
	};
}

function fakeSocket() {
	const sent = [];
	const send = bytes => sent.push(bytes);
	return {sent, backlog: 0, send, beforeFlush: flush => flush(), pause() {}, resume() {}, close() {}, destroy() {}};
}

const STREAMS = Array.from({length: 200}, (_, index) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`);
const ids = () => STREAMS;

function randomFrame(random, streams = [...STREAMS, '', ' ', 'stream-1', '\u{1f980}']) {
	const kind = pick(random, KINDS);
	const bytes = randomBytes(random, 100);
	const body = {
		data: {kind, seq: Math.floor(random() * 2 ** 32), payload: bytes},
		resume: {kind, nextSeq: Math.floor(random() * 3)},
		reset: {kind, reason: pick(random, ['noise_relay_protocol_error', '', 'x'])},
		handshake: {kind, payload: bytes},
		other: {kind},
	}[kind];
	return {streamId: pick(random, streams), body};
}

/** Flips, cuts, inserts or doubles bytes, a few times; now and then not at all. */
function mutate(random, given) {
	let bytes = Uint8Array.from(given);
	for (let times = Math.floor(random() * 4); times > 0 && bytes.length > 0; times--) {
		const at = Math.floor(random() * bytes.length);
		const way = Math.floor(random() * 4);
		if (way === 0) bytes[at] ^= 1 << Math.floor(random() * 8);
		else if (way === 1) bytes = bytes.slice(0, at);
		else if (way === 2) bytes = Buffer.concat([bytes.slice(0, at), randomBytes(random, 8), bytes.slice(at)]);
		else bytes = Buffer.concat([bytes.slice(0, at), bytes.slice(at), bytes.slice(at)]);
	}
	return bytes;
}

function randomBytes(random, max) {
	return Uint8Array.from({length: Math.floor(random() * max)}, () => Math.floor(random() * 256));
}

function toComparable({streamId, body}) {
	return {streamId, body: {...body, ...(body.payload && {payload: Buffer.from(body.payload).toString('hex')})}};
}

function pick(random, list) {
	return list[Math.floor(random() * list.length)];
}

function chance(random, probability) {
	return random() < probability;
}
