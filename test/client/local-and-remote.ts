import {onTestFinished} from 'vitest';
import type {Files} from '../../src/client/files/files.js';
import {RemoteFiles} from '../../src/client/files/remote/remote-files.js';
import type {Http} from '../../src/client/http/http.js';
import {RemoteHttp} from '../../src/client/http/remote-http.js';
import {type Connect, SessionClient} from '../../src/client/session/session-client.js';
import {LocalFiles} from '../../src/environments/local/local-files.js';
import {LocalHttp} from '../../src/environments/local/local-http.js';
import {TRANSPORTS} from '../helpers/transports.js';

export interface ClientApis {
	readonly files: Files;
	readonly http: Http;
	/** False for an upstream server, which has no methods of longarm. */
	readonly isLongarm: boolean;
	/** Breaks the connection; undefined without one. */
	readonly cut: (() => void) | undefined;
}

/** The client interfaces of this machine, and of a server over every transport; closed with the test. */
export const LOCAL_AND_REMOTE: Readonly<Record<string, () => Promise<ClientApis>>> = {
	'on this machine': async () => {
		const http = new LocalHttp({});
		onTestFinished(() => http.close());
		return {files: new LocalFiles(), http, isLongarm: true, cut: undefined};
	},
	...Object.fromEntries(
		Object.entries(TRANSPORTS).map(([name, listen]) => [`over ${name}`, async () => connectApis(await listen())]),
	),
};

async function connectApis(connect: Connect): Promise<ClientApis> {
	let cut: () => void;
	const client = await SessionClient.open(
		async signal => {
			const transport = await connect(signal);
			cut = () => transport.destroy();
			return transport;
		},
		{recovers: false},
	);
	onTestFinished(async () => {
		client.close();
		await client.ended;
	});
	return {
		files: new RemoteFiles(async () => client),
		http: new RemoteHttp(async () => client),
		isLongarm: client.capabilities['fsTransfer'] === true,
		cut: () => cut(),
	};
}
