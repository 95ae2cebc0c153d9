import http from 'node:http';
import {text} from 'node:stream/consumers';

const METHOD_NOT_FOUND = -32601;

/** The smallest useful MCP server over streamable HTTP: one tool that echoes its argument. */
export async function startHttpMcp() {
	const server = http.createServer((request, response) => void answer(request, response));
	await new Promise(resolve => {
		server.listen(0, '127.0.0.1', resolve);
	});
	return {
		url: `http://127.0.0.1:${server.address().port}/mcp`,
		stop() {
			server.closeAllConnections();
			return new Promise(resolve => {
				server.close(resolve);
			});
		},
	};
}

async function answer(request, response) {
	const body = await text(request);
	if (request.method === 'DELETE') return response.writeHead(200).end();
	if (request.method !== 'POST') return response.writeHead(405).end();
	const message = parse(body);
	if (!message) return response.writeHead(400).end();
	if (message.id === undefined) return response.writeHead(202).end();
	const outcome = outcomeOf(message);
	const reply = JSON.stringify({jsonrpc: '2.0', id: message.id, ...outcome});
	// Both forms of an answer that the transport knows are used.
	if (message.method === 'tools/call') {
		return response.writeHead(200, {'content-type': 'text/event-stream'}).end(`event: message\ndata: ${reply}\n\n`);
	}
	return response.writeHead(200, {'content-type': 'application/json', 'mcp-session-id': 's-1'}).end(reply);
}

function parse(body) {
	try {
		return JSON.parse(body);
	} catch {
		return undefined;
	}
}

function outcomeOf({method, params}) {
	switch (method) {
		case 'initialize': {
			const {protocolVersion} = params;
			return {result: {protocolVersion, capabilities: {tools: {}}, serverInfo: {name: 'web', version: '1.0.0'}}};
		}
		case 'tools/list': {
			const inputSchema = {type: 'object', properties: {tag: {type: 'string'}}};
			const tool = {name: 'where', description: 'Echo.', inputSchema, annotations: {readOnlyHint: true}};
			return {result: {tools: [tool]}};
		}
		case 'tools/call':
			return {result: {content: [{type: 'text', text: `tag=${params.arguments?.tag}`}]}};
		case 'ping':
			return {result: {}};
		default:
			return {error: {code: METHOD_NOT_FOUND, message: 'unknown method'}};
	}
}
