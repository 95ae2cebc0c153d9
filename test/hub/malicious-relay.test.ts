// covers: src/transports/relay, src/transports/node/relay, src/protocol/relay, src/shared/noise
// A relay that does as it likes with the frames of honest ends can end their connection, and nothing else.
import {once} from 'node:events';
import {createServer, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import {expect, onTestFinished, test} from 'vitest';
import {WebSocket, WebSocketServer} from 'ws';
import {decodeRelayFrame, encodeRelayFrame, type RelayFrame} from '../../src/protocol/relay/relay-frame.js';
import {encodeRelayKey} from '../../src/protocol/relay/relay-keys.js';
import {silentLogger} from '../../src/shared/logger.js';
import {nodeNoiseCrypto} from '../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys, publicKeysOf} from '../../src/shared/noise/hybrid-ik.js';
import {connectHarness, harnessKey} from '../../src/transports/node/relay/connect-harness.js';
import {ExecutorLink} from '../../src/transports/node/relay/executor-link.js';
import {RegistryClient} from '../../src/transports/node/relay/registry-client.js';
import type {Transport} from '../../src/transports/transport.js';
import {eventually} from '../helpers/processes.js';

type Direction = 'toExecutor' | 'toHarness';
/** Frames to pass on in place of one. */
type Script = (frame: RelayFrame, direction: Direction, harness: number) => readonly RelayFrame[];

const honest: Script = frame => [frame];

/** A registry that lets everybody in, and a relay that does as the script says with each frame. */
class ScriptedRelay {
	script: Script = honest;
	readonly harnesses: WebSocket[] = [];
	readonly #streams = new Map<string, number>();
	readonly #server: Server = createServer((request, response) => {
		request.resume().on('end', () => {
			const action = request.url!.split('/').at(-1);
			const {port} = this.#server.address() as AddressInfo;
			response.end(
				JSON.stringify(
					action === 'validate'
						? {valid: true}
						: {
								environment_id: 'devbox',
								url: `ws://127.0.0.1:${port}/${action}`,
								security_profile: 'noise_hybrid_ik_v1',
								executor_registration_id: 'registration-1',
								executor_public_key: this.executorKey,
								harness_key_authorization: 'authorization-1',
							},
				),
			);
		});
	});
	executorKey: unknown;
	executor: WebSocket | undefined;

	async listen(): Promise<string> {
		const sockets = new WebSocketServer({server: this.#server, perMessageDeflate: false});
		sockets.on('connection', (socket, {url}) => {
			if (url === '/register') this.#joinExecutor(socket);
			else this.#joinHarness(socket);
		});
		this.#server.listen(0, '127.0.0.1');
		await once(this.#server, 'listening');
		onTestFinished(() => {
			for (const socket of sockets.clients) socket.terminate();
			this.#server.close();
		});
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
	}

	#joinExecutor(socket: WebSocket): void {
		this.executor = socket;
		socket.on('message', data => {
			const frame = decodeRelayFrame(data as Buffer);
			const harness = this.#streams.get(frame.streamId) ?? 0;
			for (const each of this.script(frame, 'toHarness', harness)) {
				this.harnesses[this.#streams.get(each.streamId) ?? harness]?.send(encodeRelayFrame(each));
			}
		});
	}

	#joinHarness(socket: WebSocket): void {
		const harness = this.harnesses.push(socket) - 1;
		socket.on('message', data => {
			const frame = decodeRelayFrame(data as Buffer);
			if (!this.#streams.has(frame.streamId)) this.#streams.set(frame.streamId, harness);
			for (const each of this.script(frame, 'toExecutor', harness)) this.executor?.send(encodeRelayFrame(each));
		});
		socket.on('error', () => {});
	}
}

interface HonestEnd {
	readonly transport: Transport;
	readonly received: string[];
	isClosed: boolean;
}

function listenTo(transport: Transport): HonestEnd {
	const end: HonestEnd = {transport, received: [], isClosed: false};
	transport.open({
		message: text => end.received.push(text),
		unreadable: () => end.received.push('unreadable'),
		drained: () => {},
		closed: () => {
			end.isClosed = true;
		},
	});
	return end;
}

interface Scene {
	readonly relay: ScriptedRelay;
	/** Channels at the executor, in the order in which they came. */
	readonly served: HonestEnd[];
	readonly connect: () => Promise<HonestEnd>;
}

async function scene(): Promise<Scene> {
	const relay = new ScriptedRelay();
	const url = await relay.listen();
	const keys = createNoiseKeys(nodeNoiseCrypto);
	relay.executorKey = encodeRelayKey(publicKeysOf(keys));
	const served: HonestEnd[] = [];
	const registry = new RegistryClient({url, environmentId: 'devbox', token: () => 'token'});
	const link = new ExecutorLink({
		registry,
		keys,
		accept: transport => served.push(listenTo(transport)),
		logger: silentLogger,
	});
	void link.run();
	onTestFinished(() => link.close());
	await eventually(() => relay.executor !== undefined);
	const connect = async (): Promise<HonestEnd> => {
		const own = createNoiseKeys(nodeNoiseCrypto);
		const bundle = await registry.connect(harnessKey(own));
		const transport = await connectHarness({environmentId: 'devbox', keys: own, bundle});
		onTestFinished(() => transport.destroy());
		return listenTo(transport);
	};
	return {relay, served, connect};
}

/** Messages long enough to take several records, each with its number in front. */
const message = (index: number): string => JSON.stringify({index, padding: 'x'.repeat(index % 3 === 0 ? 150_000 : 10)});
const indexesOf = (texts: readonly string[]): number[] =>
	texts.map(text => (JSON.parse(text) as {index: number}).index);
const isData = ({body}: RelayFrame): boolean => body.kind === 'data';

test('through an honest relay every message arrives', async () => {
	const {served, connect} = await scene();
	const client = await connect();
	for (let index = 0; index < 10; index++) client.transport.send(message(index));
	await eventually(() => served[0]?.received.length === 10);
	served[0]!.transport.send(message(0));
	await eventually(() => client.received.length === 1);
	expect(served[0]!.received).toEqual(Array.from({length: 10}, (_, index) => message(index)));
});

test('frames that come twice are taken once, and late ones wait for those before them', async () => {
	const {relay, served, connect} = await scene();
	const client = await connect();
	let held: RelayFrame | undefined;
	relay.script = frame => {
		if (!isData(frame)) return [frame];
		if (held) {
			const before = held;
			held = undefined;
			return [frame, before, before, frame];
		}
		held = frame;
		return [];
	};
	for (let index = 1; index <= 20; index += 1) {
		if (index % 3 === 0) continue;
		client.transport.send(message(index));
		// Messages of one turn would share a record.
		await new Promise(resolve => setImmediate(resolve));
	}
	const sent = Array.from({length: 20}, (_, index) => index + 1).filter(index => index % 3 !== 0);
	await eventually(() => served[0]!.received.length === sent.length);
	expect(indexesOf(served[0]!.received)).toEqual(sent);
});

const ATTACKS: Readonly<Record<string, (count: number, frame: RelayFrame) => readonly RelayFrame[]>> = {
	'drops a frame': (count, frame) => (count === 5 ? [] : [frame]),
	'changes one bit of a record': (count, frame) => (count === 5 ? [tamper(frame, bytes => flip(bytes))] : [frame]),
	'cuts a record short': (count, frame) => (count === 5 ? [tamper(frame, bytes => bytes.subarray(0, -1))] : [frame]),
	'makes a record longer': (count, frame) =>
		count === 5 ? [tamper(frame, bytes => Buffer.concat([bytes, Buffer.from('x')]))] : [frame],
	'gives a record another number': (count, frame) => (count === 5 ? [renumber(frame, 6)] : [frame]),
	'sends a number far ahead': (count, frame) => (count === 5 ? [renumber(frame, 5000)] : [frame]),
	'puts a record of its own in place': (count, frame) =>
		count === 5 ? [tamper(frame, () => Buffer.from('{"index":-1}'))] : [frame],
};

function tamper(frame: RelayFrame, change: (payload: Uint8Array) => Uint8Array): RelayFrame {
	const {body} = frame;
	return body.kind === 'data' ? {...frame, body: {...body, payload: change(body.payload)}} : frame;
}

function renumber(frame: RelayFrame, seq: number): RelayFrame {
	return frame.body.kind === 'data' ? {...frame, body: {...frame.body, seq}} : frame;
}

function flip(bytes: Uint8Array): Uint8Array {
	const changed = Uint8Array.from(bytes);
	changed[changed.length >> 1]! ^= 1;
	return changed;
}

test.each(
	Object.keys(ATTACKS).flatMap(
		name =>
			[
				[name, 'toExecutor'],
				[name, 'toHarness'],
			] as const,
	),
)(
	'a relay that %s %s gets a beginning of the messages through, in order and unchanged, or none',
	async (name, direction) => {
		const {relay, served, connect} = await scene();
		const client = await connect();
		await eventually(() => served.length === 1);
		const [sender, receiver] = direction === 'toExecutor' ? [client, served[0]!] : [served[0]!, client];
		let count = 0;
		let passed = 0;
		relay.script = (frame, way) => {
			if (way !== direction || !isData(frame)) return [frame];
			passed++;
			return ATTACKS[name]!(count++, frame);
		};
		// More than an executor keeps waiting for a frame that never comes.
		for (let index = 0; index < 100; index++) sender.transport.send(message(index));
		await eventually(() => receiver.isClosed || passed >= 100);
		await eventually(() => receiver.isClosed);
		const indexes = indexesOf(receiver.received);
		expect(indexes).toEqual(indexes.map((_, index) => index));
		expect(indexes.length).toBeLessThan(100);
		expect(receiver.received).toEqual(indexes.map(message));
	},
);

test('records of one stream are worth nothing on another, and a stream is not moved to another id', async () => {
	const {relay, served, connect} = await scene();
	const ids: string[] = [];
	relay.script = (frame, _direction, harness) => {
		ids[harness] = frame.streamId;
		return [frame];
	};
	const [one, two] = [await connect(), await connect()];
	await eventually(() => served.length === 2);
	relay.script = (frame, direction, harness) =>
		isData(frame) && direction === 'toExecutor' ? [{...frame, streamId: ids[1 - harness]!}] : [frame];
	for (let index = 1; index <= 2; index++) {
		one.transport.send(JSON.stringify({from: 'one', index}));
		two.transport.send(JSON.stringify({from: 'two', index}));
	}
	await eventually(() => served.every(({isClosed}) => isClosed));
	expect(served.map(({received}) => received)).toEqual([[], []]);
});

test('what the executor says to one client is worth nothing to another, nor to the executor itself', async () => {
	const {relay, served, connect} = await scene();
	const ids: string[] = [];
	relay.script = (frame, _direction, harness) => {
		ids[harness] = frame.streamId;
		return [frame];
	};
	const [one, two] = [await connect(), await connect()];
	await eventually(() => served.length === 2);
	relay.script = (frame, direction, harness) => {
		if (!isData(frame)) return [frame];
		// Words of either side come back to it.
		if (direction === 'toExecutor') {
			relay.harnesses[harness]!.send(encodeRelayFrame(frame));
			return [];
		}
		return [{...frame, streamId: ids[1 - harness]!}];
	};
	served[0]!.transport.send(message(1));
	await eventually(() => two.isClosed);
	one.transport.send(message(2));
	await eventually(() => one.isClosed);
	expect([one.received, two.received]).toEqual([[], []]);
});

test('everything of an earlier connection, played again on a later one, brings nothing to either end', async () => {
	const {relay, served, connect} = await scene();
	const earlier: RelayFrame[] = [];
	relay.script = (frame, direction) => {
		if (direction === 'toExecutor') earlier.push(frame);
		return [frame];
	};
	const first = await connect();
	for (let index = 1; index <= 5; index++) first.transport.send(message(index));
	await eventually(() => served[0]?.received.length === 5);
	first.transport.destroy();
	relay.script = honest;
	const second = await connect();
	await eventually(() => served.length === 2);
	// Under the id it had, and under that of the stream which is open now.
	let streamId = '';
	relay.script = frame => {
		streamId = frame.streamId;
		return [frame];
	};
	second.transport.send(message(7));
	await eventually(() => served[1]!.received.length === 1);
	for (const frame of earlier.filter(isData)) {
		relay.executor!.send(encodeRelayFrame(frame));
		relay.executor!.send(encodeRelayFrame({...frame, streamId}));
	}
	second.transport.send(message(8));
	await eventually(() => served[1]!.isClosed || served[1]!.received.length === 2);
	expect(indexesOf(served[0]!.received)).toEqual([1, 2, 3, 4, 5]);
	expect([[7], [7, 8]]).toContainEqual(indexesOf(served[1]!.received));
});

test('a relay that holds everything back for a while changes nothing', async () => {
	const {relay, served, connect} = await scene();
	const client = await connect();
	const held: RelayFrame[] = [];
	relay.script = frame => {
		held.push(frame);
		return [];
	};
	for (let index = 1; index <= 20; index++) {
		client.transport.send(message(index));
		// Messages of one turn share a frame.
		await eventually(() => held.length >= index);
	}
	relay.script = honest;
	for (const frame of held) relay.executor!.send(encodeRelayFrame(frame));
	await eventually(() => served[0]!.received.length === 20);
	expect(served[0]!.received).toEqual(Array.from({length: 20}, (_, index) => message(index + 1)));
});

test('a handshake that was changed, moved to another stream or played again opens nothing', async () => {
	const {relay, served, connect} = await scene();
	const moved = '00000000-0000-4000-8000-000000000000';
	const scripts: Script[] = [
		frame =>
			frame.body.kind === 'handshake'
				? [{...frame, body: {kind: 'handshake', payload: flip(frame.body.payload)}}]
				: [frame],
		(frame, direction) => (direction === 'toExecutor' ? [{...frame, streamId: moved}] : [frame]),
		(frame, direction) =>
			direction === 'toHarness' && frame.body.kind === 'handshake'
				? [{...frame, body: {kind: 'handshake', payload: flip(frame.body.payload)}}]
				: [frame],
	];
	for (const script of scripts) {
		relay.script = script;
		const before = relay.harnesses.length;
		const attempt = connect().catch((error: unknown) => error);
		await eventually(() => relay.harnesses.length > before);
		// The relay may also keep silent for ever; the end of its socket stands for the end of patience.
		const socket = relay.harnesses.at(-1)!;
		await Promise.race([attempt, once(socket, 'message').then(() => eventually(() => true))]);
		setTimeout(() => socket.terminate(), 500).unref();
		expect(await attempt).toBeInstanceOf(Error);
	}
	relay.script = honest;
	let first: RelayFrame | undefined;
	relay.script = (frame, direction) => {
		if (direction === 'toExecutor' && frame.body.kind === 'handshake') first = frame;
		return [frame];
	};
	const client = await connect();
	const open = served.length;
	// Played again on the same stream: refused, and the stream goes on.
	relay.executor!.send(encodeRelayFrame(first!));
	client.transport.send(message(1));
	await eventually(() => served[open - 1]!.received.length === 1 || client.isClosed);
	expect(served.length).toBe(open);
});

test('a relay that answers in place of the executor, with a key of its own, is noticed', async () => {
	const {relay, connect} = await scene();
	relay.executorKey = encodeRelayKey(publicKeysOf(createNoiseKeys(nodeNoiseCrypto)));
	await expect(connect()).rejects.toThrow('Noise relay stream reset');
});
