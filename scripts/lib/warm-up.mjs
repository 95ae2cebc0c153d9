// Calls every method of a server that agents call all the time, so that the code behind them is compiled.
import {once} from 'node:events';
import {mkdtempSync, rmSync} from 'node:fs';
import {createServer} from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {WebSocket} from 'ws';

const WAIT_MS = 5000;
/** Larger than what a pipe holds: reads and writes have to wait. */
const LARGE_BYTES = 1024 * 1024;

export async function warmUp(address) {
	const socket = new WebSocket(address);
	await once(socket, 'open');
	const call = createCalls(socket);
	await call('initialize', {clientName: 'build'});
	socket.send(JSON.stringify({method: 'initialized', params: {}}));
	const folder = mkdtempSync(join(tmpdir(), 'longarm-build-'));
	const origin = createServer((_, response) => response.end('x'.repeat(LARGE_BYTES)));
	await once(origin.listen(0, '127.0.0.1'), 'listening');
	try {
		await useFiles(call, pathToFileURL(folder).href);
		await useProcesses(call, pathToFileURL(folder).href);
		const url = `http://127.0.0.1:${origin.address().port}/`;
		for (const streamResponse of [false, true]) {
			await call('http/request', {method: 'GET', url, requestId: `request-${streamResponse}`, streamResponse});
		}
	} finally {
		socket.terminate();
		origin.close();
		origin.closeAllConnections();
		rmSync(folder, {recursive: true});
	}
}

async function useFiles(call, folder) {
	const file = {path: `${folder}/file`};
	await call('fs/createDirectory', {path: `${folder}/below`, recursive: true});
	for (const size of [1, LARGE_BYTES]) {
		await call('fs/writeFile', {...file, dataBase64: Buffer.alloc(size).toString('base64')});
		await call('fs/readFile', file);
	}
	await call('fs/getMetadata', file);
	await call('fs/canonicalize', file);
	await call('fs/readDirectory', {path: folder});
	await call('fs/walk', {
		path: folder,
		options: {maxDepth: 2, maxDirectories: 10, maxEntries: 10, followDirectorySymlinks: false},
	});
	await call('fs/copy', {sourcePath: file.path, destinationPath: `${folder}/copy`, recursive: false});
	await call('fs/open', {...file, handleId: 'handle'});
	await call('fs/readBlock', {handleId: 'handle', offset: 0, len: LARGE_BYTES});
	await call('fs/close', {handleId: 'handle'});
	await call('fs/remove', {path: `${folder}/copy`, recursive: false, force: true});
}

async function useProcesses(call, cwd) {
	const env = {PATH: process.env.PATH};
	for (const tty of [false, true]) {
		const processId = `cat-${tty}`;
		await call('process/start', {processId, argv: ['cat'], cwd, env, tty, pipeStdin: true});
		await call('process/write', {processId, chunk: Buffer.from('line\n').toString('base64')});
		await call('process/read', {processId, afterSeq: 0, waitMs: WAIT_MS});
		if (tty) await call('process/resize', {processId, rows: 40, cols: 100});
		await call('process/terminate', {processId});
		await readToEnd(call, processId);
	}
	const printed = `head -c ${LARGE_BYTES} /dev/zero; exit 3`;
	await call('process/start', {processId: 'large', argv: ['sh', '-c', printed], cwd, env, tty: false});
	await readToEnd(call, 'large');
}

async function readToEnd(call, processId) {
	for (let afterSeq = 0, closed = false; !closed; ) {
		const reply = await call('process/read', {processId, afterSeq, waitMs: WAIT_MS});
		if (reply === undefined) return;
		closed = reply.closed;
		afterSeq = reply.nextSeq - 1;
	}
}

/** Undefined for a call that fails, which is told: its code would be missing. */
function createCalls(socket) {
	const waiting = new Map();
	let last = 0;
	socket.on('message', text => {
		const {id, result, error} = JSON.parse(text);
		if (error) console.error(`a call of the warm-up was refused: ${error.message}`);
		waiting.get(id)?.(result);
		waiting.delete(id);
	});
	return (method, params) =>
		new Promise(resolve => {
			const id = ++last;
			waiting.set(id, resolve);
			socket.send(JSON.stringify({id, method, params}));
		});
}
