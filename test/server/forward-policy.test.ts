import {promisify} from 'node:util';
import {expect, test} from 'vitest';
import {createAllowedLookup} from '../../src/network/forward/forward-policy.js';
import {refusal} from '../helpers/process-api.js';
import {join, serving} from '../helpers/serving.js';
import {rawOrigin} from '../network/origin.js';

const HINT = {
	code: 'FORWARD_REFUSED',
	hint: 'Start that server with --allow-forward loopback (its own ports) or --allow-forward any.',
};

test('nothing is forwarded unless it is allowed, and the client can know', async () => {
	const {port, sockets} = await rawOrigin(() => {});
	const {client} = await join(await serving());
	expect(await refusal(client.call('forward/open', {forwardId: 'f', port}))).toEqual({
		code: -32_600,
		message: 'this server forwards no connections',
		data: {...HINT, context: {host: '127.0.0.1'}},
	});
	expect(sockets).toEqual([]);
	expect(await client.call('environment/info')).toMatchObject({capabilities: {portForward: false, httpCancel: true}});
});

test('a server that forwards says so', async () => {
	const {client} = await join(await serving({allowForward: 'loopback'}));
	expect(await client.call('environment/info')).toMatchObject({capabilities: {portForward: true}});
});

test.each(['127.0.0.1', '127.0.0.2', 'localhost', '::ffff:127.0.0.1'])('%s is a loopback address', async host => {
	const {port} = await rawOrigin(() => {});
	const {client} = await join(await serving({allowForward: 'loopback'}));
	// Only the first is listened on; that the others are tried is what counts.
	const told = await refusal(client.call('forward/open', {forwardId: 'f', host, port}));
	expect(told).not.toMatchObject({data: HINT});
});

test.each(['192.0.2.1', '10.0.0.1', '0.0.0.0', '::', '::ffff:10.0.0.1', '169.254.169.254'])(
	'%s is none and is refused without a connection',
	async host => {
		const {client} = await join(await serving({allowForward: 'loopback'}));
		expect(await refusal(client.call('forward/open', {forwardId: 'f', host, port: 80}))).toEqual({
			code: -32_600,
			message: 'this server forwards connections to its own loopback addresses only',
			data: {...HINT, context: {host}},
		});
	},
);

test('a name is judged by the addresses it stands for', async () => {
	// An address written as a name is resolved like one, by the same call that `connect` makes.
	const lookup = promisify<string, object, unknown>(createAllowedLookup('loopback', {}) as never);
	expect(await lookup('127.0.0.5', {all: true})).toEqual([{address: '127.0.0.5', family: 4}]);
	await expect(lookup('192.0.2.1', {all: true})).rejects.toMatchObject({code: 'FORWARD_REFUSED'});
	await expect(lookup('192.0.2.1', {all: false})).rejects.toMatchObject({code: 'FORWARD_REFUSED'});
	const anywhere = promisify<string, object, unknown>(createAllowedLookup('any', {}) as never);
	expect(await anywhere('192.0.2.1', {all: true})).toEqual([{address: '192.0.2.1', family: 4}]);
});

test('a server that forwards anywhere tries anything', async () => {
	const {client} = await join(await serving({allowForward: 'any'}));
	const told = await refusal(client.call('forward/open', {forwardId: 'f', host: 'nothing.invalid', port: 80}));
	expect(told).toMatchObject({code: -32_603, data: {code: 'FORWARD_FAILED'}});
});

test.each([
	[{port: 0}, 'port must be between 1 and 65535'],
	[{port: 65_536}, 'port must be between 1 and 65535'],
	[{host: ''}, 'host must not be empty'],
	[{forwardId: ''}, 'forwardId must have 1 to 64 bytes'],
	[{forwardId: 'ü'.repeat(33)}, 'forwardId must have 1 to 64 bytes'],
])('%j is refused', async (extra, message) => {
	const {client} = await join(await serving({allowForward: 'any'}));
	const params = {forwardId: 'f', port: 80, ...extra};
	expect(await refusal(client.call('forward/open', params))).toEqual({code: -32_602, message});
});
