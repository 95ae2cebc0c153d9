// covers: src/transports/node/tcp-info.ts, src/transports/node/peer-watch.ts, src/transports/node/ask-peer.ts
import {connect, createServer, type Socket} from 'node:net';
import {expect, onTestFinished, test} from 'vitest';
import {connectWebSocket} from '../../../src/transports/node/connect-web-socket.js';
import {listen} from '../../../src/transports/node/listener.js';
import {readTcpInfo} from '../../../src/transports/node/tcp-info.js';
import {PeerSilentError} from '../../../src/transports/peer-silent-error.js';
import type {Transport} from '../../../src/transports/transport.js';
import {Authority} from '../../helpers/certificates.js';
import {needs, unless} from '../../helpers/needs.js';
import {eventually} from '../../helpers/processes.js';
import {RawPeer} from '../../helpers/raw-peer.js';
import {scratchDirectory} from '../../helpers/scratch.js';

const onLinux = unless(process.platform === 'linux' ? undefined : 'only Linux tells what was acknowledged');
const TIMES = {pingIntervalMs: 100, peerTimeoutMs: 500};

function descriptorOf(socket: Socket): number {
	return (socket as unknown as {_handle: {fd: number}})._handle.fd;
}

/** Both ends of a connection. */
async function pair(address: {path: string} | {port: number}): Promise<[Socket, Socket]> {
	const accepted = new Promise<Socket>(resolve => {
		const server = createServer({pauseOnConnect: true}, resolve).listen(address, () => {
			const own = server.address();
			near = connect(typeof own === 'string' ? {path: own} : {port: (own as {port: number}).port, host: '127.0.0.1'});
			onTestFinished(() => void near?.destroy());
		});
		onTestFinished(() => void server.close());
	});
	let near: Socket | undefined;
	const far = await accepted;
	onTestFinished(() => void far.destroy());
	return [near!, far];
}

test('the kernel tells what it has received unread and what the other end has acknowledged', onLinux, async () => {
	const [near, far] = await pair({port: 0});
	near.write(Buffer.alloc(5000));
	await eventually(() => readTcpInfo(descriptorOf(near))!.ackedBytes >= 5000);
	expect(readTcpInfo(descriptorOf(near))).toMatchObject({isUnanswered: false, queuedBytes: 0});
	const before = readTcpInfo(descriptorOf(far))!.dataSilentMs;
	near.write('x');
	await eventually(() => readTcpInfo(descriptorOf(far))!.dataSilentMs <= before);
	expect(far.bytesRead).toBe(0);
});

test('a kernel that cannot tell is no error', onLinux, async () => {
	const [near] = await pair({path: `${scratchDirectory()}/socket`});
	expect([readTcpInfo(descriptorOf(near)), readTcpInfo(-1), readTcpInfo(1_000_000)]).toEqual([
		undefined,
		undefined,
		undefined,
	]);
});

test.each(['ws', 'wss'])(
	'over %s a peer that does not answer is given up, and it is known that its machine does',
	needs('openssl'),
	async scheme => {
		const authority = new Authority();
		const ends: RawPeer[] = [];
		const stopped: string[] = [];
		const listener = await listen({
			host: '127.0.0.1',
			port: 0,
			...(scheme === 'wss' && {tls: authority.issue()}),
			accept: transport => void ends.push(new RawPeer(transport)),
			peerTimes: {...TIMES, stoppedPeerMs: 2000},
			onStoppedPeer: peer => stopped.push(peer),
		});
		onTestFinished(() => listener.close());
		const client: Transport = await connectWebSocket(listener.url, {
			...(scheme === 'wss' && {tls: {ca: authority.ca}}),
			pingIntervalMs: 0,
		});
		const peer = new RawPeer(client);
		await eventually(() => ends.length === 1);
		expect(await ends[0]!.transport.isAnswering!(5000)).toBe(true);
		peer.transport.pause();
		const {error} = await ends[0]!.untilClosed();
		expect(error).toBeInstanceOf(PeerSilentError);
		expect(error!.message).toMatch(/^the other end has not answered for \d+ s$/);
		expect(error).toMatchObject({machineAnswers: process.platform === 'linux'});
		expect(stopped).toEqual([]);
		expect(await ends[0]!.transport.isAnswering!(5000)).toBe(false);
	},
);

test('a peer that is not given up for want of a limit is asked all the same', async () => {
	const ends: RawPeer[] = [];
	const listener = await listen({
		host: '127.0.0.1',
		port: 0,
		accept: transport => void ends.push(new RawPeer(transport)),
		peerTimes: {pingIntervalMs: 0},
	});
	onTestFinished(() => listener.close());
	const client = new RawPeer(await connectWebSocket(listener.url));
	await eventually(() => ends.length === 1);
	client.transport.pause();
	expect(await ends[0]!.transport.isAnswering!(200)).toBe(false);
	client.transport.resume();
	expect(await ends[0]!.transport.isAnswering!(5000)).toBe(true);
});

test('times that contradict each other are refused at both ends', async () => {
	const fault = 'the time after which a silent peer is gone has to be longer than the interval of pings';
	const peerTimes = {pingIntervalMs: 1000, peerTimeoutMs: 1000};
	await expect(listen({host: '127.0.0.1', port: 0, accept: () => {}, peerTimes})).rejects.toThrow(fault);
	await expect(connectWebSocket('ws://127.0.0.1:1', peerTimes)).rejects.toThrow(fault);
});
