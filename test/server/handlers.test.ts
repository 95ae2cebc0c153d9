import {expect, test} from 'vitest';
import {listCapabilities, METHODS} from '../../src/protocol/methods/method-table.js';
import type {ClientConnection} from '../../src/server/connection/client-connection.js';
import type {AllHandlers} from '../../src/server/connection/dispatch.js';
import {createHandlers} from '../../src/server/handlers/all-handlers.js';

const handlers = createHandlers({shell: {name: 'sh', path: '/bin/sh'}}, {});

test('a handler that is missing does not compile', () => {
	const {'process/list': _list, ...rest} = handlers;
	// @ts-expect-error one is missing
	const all: AllHandlers<ClientConnection> = rest;
	expect(Object.keys(all)).not.toContain('process/list');
});

test('every request of a client that is served has a handler, and no other has', () => {
	const served = Object.entries(METHODS).filter(
		([, row]) => row.kind === 'request' && row.from === 'client' && !('unserved' in row),
	);
	expect(Object.keys(handlers).sort()).toEqual(served.map(([name]) => name).sort());
});

test('a method announces its capability as long as it is served', () => {
	const announced = listCapabilities();
	const rows = Object.values(METHODS).filter(row => 'capability' in row);
	expect(rows.length).toBeGreaterThan(15);
	for (const row of rows) expect(announced[row.capability]).toBe(!('unserved' in row));
	expect(announced).toMatchObject({processResize: true, fsSearch: true, processIo: true, capabilityDiscoveryV2: true});
});
