import {onTestFinished} from 'vitest';
import type {Files} from '../../src/client/files/files.js';
import {RemoteFiles} from '../../src/client/files/remote/remote-files.js';
import type {Http} from '../../src/client/http/http.js';
import {RemoteHttp} from '../../src/client/http/remote-http.js';
import {type Connect, SessionClient} from '../../src/client/session/session-client.js';
import {LocalFiles} from '../../src/environments/local/local-files.js';
import {LocalHttp} from '../../src/environments/local/local-http.js';
import {LINKS} from '../helpers/links.js';

export interface Machine {
	readonly files: Files;
	readonly http: Http;
	/** False where the executor has the methods of its peers only. */
	readonly isLongarm: boolean;
	/** Cuts the link, where there is one. */
	readonly cut: (() => void) | undefined;
}

/** This machine and every way to another one; closed with the test. */
export const MACHINES: Readonly<Record<string, () => Promise<Machine>>> = {
	'on this machine': async () => {
		const http = new LocalHttp({});
		onTestFinished(() => http.close());
		return {files: new LocalFiles(), http, isLongarm: true, cut: undefined};
	},
	...Object.fromEntries(
		Object.entries(LINKS).map(([name, link]) => [`over ${name}`, async () => remote(await link())]),
	),
};

async function remote(connect: Connect): Promise<Machine> {
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
