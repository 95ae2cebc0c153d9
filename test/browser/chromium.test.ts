import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {build} from 'esbuild';
import {chromium, type Page} from 'playwright-core';
import {beforeAll, describe, expect, onTestFinished, test} from 'vitest';
import {WebSocket} from 'ws';
import type * as longarm from '../../src/client/index.js';
import {listen} from '../../src/transports/node/listener.js';
import {BROWSER} from '../helpers/consoles.js';
import {needs} from '../helpers/needs.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer} from '../helpers/serving.js';

const ENTRY = new URL('../../src/client/index.ts', import.meta.url).pathname;

/** The client library in one file, for any platform: a built-in module of Node would fail the build. */
let bundle: string;

beforeAll(async () => {
	const {outputFiles} = await build({
		entryPoints: [ENTRY],
		bundle: true,
		format: 'esm',
		platform: 'browser',
		write: false,
	});
	bundle = outputFiles[0]!.text;
});

type Library = typeof longarm;
type Drive = (library: Library, url: string) => Promise<unknown>;

/** What a page, or any other program, does with the library; sent to the page as text. */
const drive: Drive = async ({connectStandardWebSocket, SessionClient}, url) => {
	const open = (globalThis as {openWebSocket?: typeof globalThis.WebSocket}).openWebSocket;
	const client = await SessionClient.open(signal => connectStandardWebSocket(url, {signal, WebSocket: open}));
	const start = {cwd: 'file:///tmp', env: {PATH: '/usr/bin:/bin'}, tty: false};
	const {process} = await client.start({
		...start,
		processId: 'p',
		argv: ['sh', '-c', 'cat; echo end >&2'],
		pipeStdin: true,
	});
	const content = new Uint8Array(300_000).map((_, index) => index % 251);
	await process.write(content);
	await process.closeStdin();
	const said = {stdout: [] as number[], stderr: ''};
	for await (const piece of process.output()) {
		if (piece.kind !== 'output') throw new Error('a gap');
		if (piece.stream === 'stdout') for (const byte of piece.bytes) said.stdout.push(byte);
		else said.stderr += new TextDecoder().decode(piece.bytes);
	}
	const {exitCode} = await process.exited;
	const failed = await client
		.start({...start, processId: 'q', argv: ['/no/such']})
		.catch((error: Error) => error.message);
	client.close();
	await client.ended;
	const isSame = said.stdout.length === content.length && said.stdout.every((byte, index) => byte === content[index]);
	return {isSame, stderr: said.stderr, exitCode, failed};
};

const EXPECTED = {
	isSame: true,
	stderr: 'end\n',
	exitCode: 0,
	failed: expect.stringContaining('exec-server rejected request (-32603)') as string,
};

async function serving(allowOrigins: readonly string[]): Promise<string> {
	const server = execServer();
	const listener = await listen({
		host: '127.0.0.1',
		port: 0,
		allowOrigins,
		accept: transport => server.accept(transport),
	});
	onTestFinished(() => listener.close());
	return listener.url;
}

/** A site with the library on it. */
async function site(): Promise<string> {
	const http = createServer((request, response) => {
		const isScript = request.url === '/longarm.js';
		response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
		response.end(isScript ? bundle : '<!doctype html><title>longarm</title>');
	});
	await new Promise<void>(resolve => {
		http.listen(0, '127.0.0.1', resolve);
	});
	onTestFinished(() => void http.close());
	return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

async function page(origin: string): Promise<Page> {
	const browser = await chromium.launchPersistentContext(scratchDirectory(), {
		executablePath: BROWSER,
		// A busy machine may take its time; what hangs is the test's own limit to tell.
		timeout: 0,
		args: [
			'--no-sandbox',
			'--disable-gpu',
			'--disable-background-networking',
			'--disable-component-update',
			'--disable-sync',
		],
	});
	onTestFinished(() => browser.close());
	browser.setDefaultTimeout(0);
	const opened = await browser.newPage();
	await opened.goto(origin);
	return opened;
}

const inPage = `async ([source, url]) => (0, eval)(source)(await import('/longarm.js'), url)`;

test('the bundle drives a server from Node with a WebSocket it is given', async () => {
	const file = `data:text/javascript;base64,${Buffer.from(bundle).toString('base64')}`;
	const library = (await import(file)) as Library;
	Object.assign(globalThis, {openWebSocket: WebSocket});
	onTestFinished(() => void Reflect.deleteProperty(globalThis, 'openWebSocket'));
	expect(await drive(library, await serving([]))).toEqual(EXPECTED);
});

describe('in Chromium', needs(BROWSER), () => {
	test('the same bundle drives a server from a page', async () => {
		const origin = await site();
		const url = await serving([origin]);
		const result: unknown = await (await page(origin)).evaluate(
			`(${inPage})(${JSON.stringify([`(${String(drive)})`, url])})`,
		);
		expect(result).toEqual(EXPECTED);
	});

	test('a page of another origin is kept out', async () => {
		const url = await serving(['http://elsewhere.example']);
		const opened = await page(await site());
		const connecting = opened.evaluate(`(${inPage})(${JSON.stringify([`(${String(drive)})`, url])})`);
		await expect(connecting).rejects.toThrow(`failed to connect to exec-server websocket \`${url}\``);
	});
});
