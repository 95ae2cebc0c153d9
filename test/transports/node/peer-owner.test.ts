import {once} from 'node:events';
import {readFileSync} from 'node:fs';
import {type AddressInfo, connect, createServer, type Socket} from 'node:net';
import {setImmediate} from 'node:timers/promises';
import {expect, onTestFinished, test} from 'vitest';
import {WebSocket} from 'ws';
import {type ListenOptions, listen} from '../../../src/transports/node/listener.js';
import {
	type ConnectionEnds,
	createUserCheck,
	PeerOwners,
	type TableName,
} from '../../../src/transports/node/peer-owner.js';
import {openSocketLookup} from '../../../src/transports/node/socket-lookup.js';
import type {Transport} from '../../../src/transports/transport.js';
import {needsIpv6, needsRoot, runAsNobody, unless} from '../../helpers/needs.js';
import {rawRequest, request, UPGRADE} from '../../helpers/raw-http.js';
import {connected} from '../../helpers/serving.js';

const STRANGER = 65_534;
const onLinux = unless(process.platform === 'linux' ? undefined : 'the table of sockets is of Linux');
const ENDS: ConnectionEnds = {
	localAddress: '127.0.0.1',
	localPort: 4500,
	remoteAddress: '127.0.0.1',
	remotePort: 40_000,
};
const FAR = '0100007F:9C40 0100007F:1194';
const NEAR = '0100007F:1194 0100007F:9C40';

function row(ends: string, userId: number, inode: number, state = '01'): string {
	return `   7: ${ends} ${state} 00000000:00000000 00:00000000 00000000 ${userId}        0 ${inode} 2 0000 20 4 30 10 -1\n`;
}

interface Tables extends Partial<Record<TableName, string>> {
	reads: number;
}

function ownersIn(tables: Tables): PeerOwners {
	return new PeerOwners(name => {
		tables.reads++;
		return tables[name] ?? '';
	});
}

test('the owner is that of the far end, not of ours', () => {
	const tables = {tcp: row(NEAR, 1, 11) + row(FAR, 1000, 12), reads: 0};
	expect(ownersIn(tables).find(ENDS)).toEqual({userId: 1000, inode: '12'});
});

test('this user and root are let in, other users are not', () => {
	const check = createUserCheck(1000);
	const refusals = [1000, 0, 1001].map(userId => {
		const owners = ownersIn({tcp: row(FAR, userId, 12), reads: 0});
		return check(() => owners.find(ENDS));
	});
	expect(refusals).toEqual([
		undefined,
		undefined,
		'without tokens only the user 1000 of this machine may connect, and this connection is of the user 1001',
	]);
});

test('a socket that no process holds has no owner, although its row names root', () => {
	for (const state of ['01', '04', '05', '06']) {
		const check = createUserCheck(0);
		const owners = ownersIn({tcp: row(FAR, 0, 0, state), reads: 0});
		expect(check(() => owners.find(ENDS))).toBe(
			'without tokens only the user 0 of this machine may connect, and it cannot be told whose this connection is',
		);
	}
});

test('an IPv4 connection of an IPv6 socket is found, whichever way its end is written here', () => {
	const mapped = '0000000000000000FFFF00000100007F';
	const ends = `${mapped}:9C40 ${mapped}:1194`;
	const owners = ownersIn({tcp6: row(ends, 1000, 12), reads: 0});
	expect(owners.find(ENDS)).toEqual({userId: 1000, inode: '12'});
	expect(owners.find({...ENDS, localAddress: '::ffff:127.0.0.1', remoteAddress: '::ffff:127.0.0.1'})).toEqual({
		userId: 1000,
		inode: '12',
	});
});

test('IPv6 addresses are written as the kernel writes them', () => {
	const loopback = '00000000000000000000000001000000';
	const other = 'B80D01200000000000000000DEBC3412';
	const owners = ownersIn({tcp6: row(`${loopback}:9C40 ${other}:1194`, 7, 12), reads: 0});
	const ends = {...ENDS, remoteAddress: '::1', localAddress: '2001:db8::1234:bcde'};
	expect(owners.find(ends)).toEqual({userId: 7, inode: '12'});
});

test('the connections of a turn share a reading, and none is found in the row of another', async () => {
	const second = {...ENDS, remotePort: 40_001};
	const tables: Tables = {tcp: row(FAR, 1000, 12), reads: 0};
	const owners = ownersIn(tables);
	expect(owners.find(ENDS)).toEqual({userId: 1000, inode: '12'});
	tables.tcp = row(FAR, 2000, 13) + row('0100007F:9C41 0100007F:1194', 1000, 14);
	expect(owners.find(second)).toEqual({userId: 1000, inode: '14'});
	expect(tables.reads).toBe(2);
	expect(owners.find(ENDS)).toEqual({userId: 2000, inode: '13'});
	expect(tables.reads).toBe(3);
	await setImmediate();
	tables.tcp = '';
	expect(owners.find(second)).toBeUndefined();
});

test('a table that cannot be read lets nobody in', () => {
	const owners = new PeerOwners(() => {
		throw new Error('EACCES');
	});
	expect(createUserCheck(1000)(() => owners.find(ENDS))).toMatch('it cannot be told whose this connection is');
	expect(owners.find({...ENDS, remoteAddress: undefined})).toBeUndefined();
});

/** Near end of a connection of this process to itself. */
async function acceptedFrom(listenHost: string, connectHost: string): Promise<Socket> {
	const server = createServer();
	server.listen(0, listenHost);
	await once(server, 'listening');
	onTestFinished(() => void server.close());
	const accepted = once(server, 'connection') as Promise<[Socket]>;
	await connecting(connectHost, (server.address() as AddressInfo).port);
	const [socket] = await accepted;
	onTestFinished(() => void socket.destroy());
	return socket;
}

/** Owners as the kernel names them one by one, without its tables. */
function askedOwners(): PeerOwners {
	return new PeerOwners(() => '', openSocketLookup());
}

const FAMILIES = [
	['127.0.0.1', '127.0.0.1'],
	['127.0.0.1', '::ffff:127.0.0.1'],
	['::', '127.0.0.1'],
	['::', '::ffff:127.0.0.1'],
	['::1', '::1'],
] as const;

test.each(FAMILIES)('the kernel names the owner that is in its table, on %s for %s', needsIpv6(), async (on, to) => {
	const near = await acceptedFrom(on, to);
	const owner = askedOwners().find(near);
	expect(owner).toEqual({userId: process.geteuid!(), inode: expect.stringMatching(/^[1-9]\d*$/) as string});
	const tables = new PeerOwners(name => readFileSync(`/proc/net/${name}`, 'latin1'));
	expect(tables.find(near)).toEqual(owner);
});

test.each(['127.0.0.1', '::1'])('a listening socket is no far end, on %s', needsIpv6(), async host => {
	const {localPort} = await acceptedFrom(host, host);
	const ends = {localAddress: host, localPort: 1, remoteAddress: host, remotePort: localPort!};
	expect(askedOwners().find(ends)).toBeUndefined();
});

test('both ends decide which socket it is', {...onLinux}, async () => {
	const {localPort, remotePort} = await acceptedFrom('127.0.0.1', '127.0.0.1');
	const ends = {...ENDS, localPort: localPort!, remotePort: remotePort!};
	expect(askedOwners().find(ends)).toBeDefined();
	expect(askedOwners().find({...ends, localPort: 1})).toBeUndefined();
	expect(askedOwners().find({...ends, remotePort: 1})).toBeUndefined();
	expect(askedOwners().find({...ends, remoteAddress: '127.0.0.2'})).toBeUndefined();
});

test('the tables are read where the kernel does not tell, and it is not asked for ever then', () => {
	let asked = 0;
	const owners = new PeerOwners(
		() => row(FAR, 1000, 12),
		() => {
			asked++;
			return undefined;
		},
	);
	for (let count = 0; count < 100; count++) expect(owners.find(ENDS)).toEqual({userId: 1000, inode: '12'});
	expect(asked).toBe(8);
});

async function listening(options: Partial<ListenOptions> = {}): Promise<{url: string; accepted: Transport[]}> {
	const accepted: Transport[] = [];
	const listener = await listen({
		host: '127.0.0.1',
		port: 0,
		accept: transport => accepted.push(transport),
		pages: {'/metrics': () => ({type: 'text/plain', body: 'secret'})},
		...options,
	});
	onTestFinished(() => listener.close());
	return {url: listener.url, accepted};
}

const REFUSAL = 'without tokens only the user 0 of this machine may connect, and this connection is of the user 65534';

test('our own processes are let in, by either family', {...onLinux}, async () => {
	await connected((await listening()).url);
	expect(await request((await listening()).url, 'GET /metrics')).toEqual([200, 'secret']);
});

test('our own processes are let in on IPv6', needsIpv6(), async () => {
	expect((await connected((await listening({host: '::1'})).url)).readyState).toBe(WebSocket.OPEN);
});

test(
	'another user of this machine gets no connection and no page, only that the server is there',
	needsRoot(),
	async () => {
		const {url, accepted} = await listening();
		await runAsNobody(async () => {
			expect(await request(url, 'GET /', UPGRADE)).toEqual([403, REFUSAL]);
			expect(await request(url, 'GET /metrics')).toEqual([403, REFUSAL]);
			expect(await request(url, 'GET /readyz')).toEqual([200, '']);
		});
		expect(accepted).toEqual([]);
	},
);

test('another user is not let in by an IPv6 socket, nor by hanging up before the answer', needsRoot(), async () => {
	const {url, accepted} = await listening();
	const port = Number(new URL(url).port);
	const lines = Object.entries({Host: '127.0.0.1', ...UPGRADE}).map(([name, value]) => `${name}: ${value}\r\n`);
	const upgrade = `GET / HTTP/1.1\r\n${lines.join('')}\r\n`;
	await runAsNobody(async () => {
		const mapped = await connecting('::ffff:127.0.0.1', port);
		mapped.write(upgrade);
		expect(String(await mapped.setEncoding('utf8').toArray())).toMatch(/^HTTP\/1\.1 403 /);
		// Written and closed at once: root owns what nobody holds.
		const gone = await connecting('127.0.0.1', port);
		await new Promise<void>(resolve => {
			gone.write(upgrade, () => {
				gone.resetAndDestroy();
				resolve();
			});
		});
		const ended = await connecting('127.0.0.1', port);
		ended.end(upgrade);
		expect(String(await ended.setEncoding('utf8').toArray())).toMatch(/^HTTP\/1\.1 403 /);
	});
	expect(accepted).toEqual([]);
});

test('with tokens, the token decides and not the user', needsRoot(), async () => {
	const {url} = await listening({
		authorize: async ({authorization}) =>
			authorization === 'Bearer good' ? {kind: 'pass', pass: undefined} : {kind: 'refused', text: 'no'},
	});
	await runAsNobody(async () => {
		expect(await request(url, 'GET /metrics', {Authorization: 'Bearer good'})).toEqual([200, 'secret']);
		expect(await rawRequest(url, 'GET /', UPGRADE)).toMatch(/^HTTP\/1\.1 401 /);
	});
});

function connecting(host: string, port: number): Promise<Socket> {
	return new Promise((resolve, reject) => {
		const socket = connect({host, port, allowHalfOpen: true});
		onTestFinished(() => void socket.destroy());
		socket.once('error', reject);
		socket.once('connect', () => {
			socket.off('error', reject);
			socket.on('error', () => {});
			resolve(socket);
		});
	});
}

test('a user of an unknown namespace is nobody in particular', {...onLinux}, () => {
	// All ids of this machine are known here, so that this one is a user like any other.
	const owners = ownersIn({tcp: row(FAR, STRANGER, 12), reads: 0});
	expect(createUserCheck(STRANGER)(() => owners.find(ENDS))).toBeUndefined();
});
