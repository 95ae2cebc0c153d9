// Files and HTTP.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

/** With --best smaller files are read with synchronous calls, and answered in the same turn. */
const SMALL_FILE_BYTES = 65_536;
const NOTHING = Buffer.alloc(0);

export function fileHandlers(connection, {isBest}) {
	const {answer, answerBulk} = connection;
	const handles = new Map();
	const agent = new http.Agent({keepAlive: true});
	const readFile = isBest ? readQuickly : file => fs.promises.readFile(file);
	return {
		async 'fs/readFile'(id, params) {
			const content = readFile(fileURLToPath(params.path));
			answerBulk(id, '"dataBase64":', Buffer.isBuffer(content) ? content : await content, '');
		},
		async 'fs/open'(id, {handleId, path: uri}) {
			handles.set(handleId, await fs.promises.open(fileURLToPath(uri)));
			answer(id, {handleId});
		},
		async 'fs/readBlock'(id, {handleId, offset, len}) {
			const {buffer, bytesRead} = await handles.get(handleId).read(Buffer.allocUnsafe(len), 0, len, offset);
			answerBulk(id, '"chunk":', buffer.subarray(0, bytesRead), `,"eof":${bytesRead < len}`);
		},
		async 'fs/close'(id, {handleId}) {
			await handles.get(handleId)?.close();
			handles.delete(handleId);
			answer(id, {});
		},
		async 'fs/writeFile'(id, {path: uri, dataBase64}) {
			await fs.promises.writeFile(fileURLToPath(uri), dataBase64, 'base64');
			answer(id, {});
		},
		async 'fs/getMetadata'(id, params) {
			const file = fileURLToPath(params.path);
			answer(id, describe(isBest ? fs.lstatSync(file) : await fs.promises.lstat(file)));
		},
		async 'fs/readDirectory'(id, params) {
			const entries = await fs.promises.readdir(fileURLToPath(params.path), {withFileTypes: true});
			answer(id, {
				entries: entries.map(entry => ({
					fileName: entry.name,
					isDirectory: entry.isDirectory(),
					isFile: entry.isFile(),
				})),
			});
		},
		async 'fs/walk'(id, params) {
			answer(id, {entries: await walk(fileURLToPath(params.path), []), errors: [], truncated: false});
		},
		'http/request'(id, params) {
			const {url, method} = params;
			http.request(url, {method, agent}, response => relay(connection, id, params, response)).end();
		},
	};
}

function readQuickly(file) {
	return fs.statSync(file).size < SMALL_FILE_BYTES ? fs.readFileSync(file) : fs.promises.readFile(file);
}

function describe(stats) {
	return {
		isDirectory: stats.isDirectory(),
		isFile: stats.isFile(),
		isSymlink: stats.isSymbolicLink(),
		size: stats.size,
		createdAtMs: Math.floor(stats.birthtimeMs),
		modifiedAtMs: Math.floor(stats.mtimeMs),
	};
}

async function walk(folder, found) {
	const entries = await fs.promises.readdir(folder, {withFileTypes: true});
	const base = pathToFileURL(folder).href;
	const below = [];
	for (const entry of entries) {
		const isDirectory = entry.isDirectory();
		found.push({path: `${base}/${encodeURIComponent(entry.name)}`, kind: isDirectory ? 'directory' : 'file'});
		if (isDirectory) below.push(walk(path.join(folder, entry.name), found));
	}
	await Promise.all(below);
	return found;
}

function relay({sendBulk, answerBulk, choke}, id, {requestId, streamResponse}, response) {
	const {statusCode, rawHeaders} = response;
	const headers = [];
	for (let index = 0; index < rawHeaders.length; index += 2)
		headers.push({name: rawHeaders[index].toLowerCase(), value: rawHeaders[index + 1]});
	const head = `"status":${statusCode},"headers":${JSON.stringify(headers)},"bodyBase64":`;
	if (!streamResponse) {
		const pieces = [];
		response.on('data', data => pieces.push(data));
		response.on('end', () => answerBulk(id, head, Buffer.concat(pieces), ''));
		return;
	}
	answerBulk(id, head, NOTHING, '');
	const before = `{"method":"http/request/bodyDelta","params":{"requestId":"${requestId}","seq":`;
	let seq = 0;
	const sendDelta = (data, isLast) =>
		sendBulk(`${before}${++seq},"deltaBase64":"`, data, `","done":${isLast},"error":null}}`);
	response.on('data', data => {
		sendDelta(data, false);
		choke(response);
	});
	response.on('end', () => sendDelta(NOTHING, true));
}
