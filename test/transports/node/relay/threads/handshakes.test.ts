// covers: src/transports/node/relay/threads
import {expect, onTestFinished, test, vi} from 'vitest';
import {nodeNoiseCrypto} from '../../../../../src/shared/node/node-noise-crypto.js';
import {
	createNoiseKeys,
	HandshakeError,
	NoiseInitiator,
	NoiseResponder,
	publicKeysOf,
} from '../../../../../src/shared/noise/hybrid-ik.js';
import {HandshakeThreads} from '../../../../../src/transports/node/relay/threads/handshake-threads.js';
import {Handshakes, MAX_WAITING_HANDSHAKES} from '../../../../../src/transports/node/relay/threads/handshakes.js';

const executor = createNoiseKeys(nodeNoiseCrypto);
const client = createNoiseKeys(nodeNoiseCrypto);
const PROLOGUE = Buffer.from('prologue');
const FEW = MAX_WAITING_HANDSHAKES;
const MANY = 12;

function initiator(payload = 'authorization'): NoiseInitiator {
	return new NoiseInitiator(nodeNoiseCrypto, {
		self: client,
		responder: publicKeysOf(executor),
		prologue: PROLOGUE,
		payload: Buffer.from(payload),
	});
}

/** Pieces of work that threads were given. */
function watchedThreads(): {readonly count: () => number} {
	const spy = vi.spyOn(HandshakeThreads.prototype, 'run');
	onTestFinished(() => spy.mockRestore());
	return {count: () => spy.mock.calls.length};
}

test.each([
	['a few handshakes are answered without a thread', FEW, 0],
	['many handshakes at once are answered by threads', MANY, MANY],
])('%s', async (_name, count, expected) => {
	const threads = watchedThreads();
	const handshakes = new Handshakes();
	const initiators = Array.from({length: count}, (_, index) => initiator(`authorization ${index}`));
	const responded = await Promise.all(
		initiators.map(({message}) => handshakes.respond({self: executor, prologue: PROLOGUE, message})),
	);
	for (const [index, each] of responded.entries()) {
		expect(Buffer.from(each.payload).toString()).toBe(`authorization ${index}`);
		expect(Buffer.compare(each.initiator.kem, client.kem.publicBytes)).toBe(0);
		const {message, ciphers} = each.answer();
		const own = initiators[index]!.finish(message);
		expect(Buffer.from(ciphers.receive.open(own.send.seal(Buffer.from('hello')))).toString()).toBe('hello');
		expect(Buffer.from(own.receive.open(ciphers.send.seal(Buffer.from('world')))).toString()).toBe('world');
	}
	expect(threads.count()).toBe(expected);
});

test('many handshakes at once are begun and finished by threads', async () => {
	const threads = watchedThreads();
	const handshakes = new Handshakes();
	const options = {self: client, responder: publicKeysOf(executor), prologue: PROLOGUE, payload: Buffer.from('x')};
	const begun = await Promise.all(Array.from({length: MANY}, () => handshakes.begin(options)));
	for (const each of begun) {
		const responder = new NoiseResponder(nodeNoiseCrypto, {self: executor, prologue: PROLOGUE, message: each.message});
		const {message, ciphers} = responder.answer();
		const own = await each.finish(message);
		expect(Buffer.from(ciphers.receive.open(own.send.seal(Buffer.from('hello')))).toString()).toBe('hello');
	}
	expect(threads.count()).toBe(2 * MANY);
});

test('a message that is not for this key is refused by a thread as it is here', async () => {
	const handshakes = new Handshakes();
	for (const count of [1, MANY]) {
		const messages = Array.from({length: count}, () =>
			initiator().message.map((byte, index) => byte ^ Number(index === 9)),
		);
		const outcomes = await Promise.allSettled(
			messages.map(message => handshakes.respond({self: executor, prologue: PROLOGUE, message})),
		);
		for (const outcome of outcomes) {
			expect(outcome).toMatchObject({status: 'rejected', reason: expect.any(HandshakeError) as HandshakeError});
		}
	}
});

test('handshakes are done here if there is no thread for them', async () => {
	const spy = vi.spyOn(HandshakeThreads.prototype, 'run').mockRejectedValue(new Error('no more threads'));
	onTestFinished(() => spy.mockRestore());
	const handshakes = new Handshakes();
	const responded = await Promise.all(
		Array.from({length: MANY}, () =>
			handshakes.respond({self: executor, prologue: PROLOGUE, message: initiator().message}),
		),
	);
	expect(responded.map(({payload}) => Buffer.from(payload).toString())).toEqual(Array(MANY).fill('authorization'));
});
