// The smallest useful MCP server over stdio: one tool that tells where it runs.
import readline from 'node:readline';

const METHOD_NOT_FOUND = -32601;

process.stderr.write('mcp fixture up\n');
readline
	.createInterface({input: process.stdin})
	.on('line', answer)
	.on('close', () => process.exit(0));

function answer(line) {
	const {id, method, params} = JSON.parse(line);
	if (id === undefined) return;
	process.stdout.write(`${JSON.stringify({jsonrpc: '2.0', id, ...outcomeOf(method, params)})}\n`);
}

function outcomeOf(method, params) {
	switch (method) {
		case 'initialize': {
			const {protocolVersion} = params;
			return {result: {protocolVersion, capabilities: {tools: {}}, serverInfo: {name: 'fixture', version: '1.0.0'}}};
		}
		case 'tools/list': {
			const inputSchema = {type: 'object', properties: {tag: {type: 'string'}}, additionalProperties: false};
			const description = 'Reports where this server runs.';
			return {result: {tools: [{name: 'where', description, inputSchema, annotations: {readOnlyHint: true}}]}};
		}
		case 'tools/call':
			return {result: {content: [{type: 'text', text: whereabouts(params.arguments?.tag)}]}};
		case 'ping':
			return {result: {}};
		default:
			return {error: {code: METHOD_NOT_FOUND, message: 'unknown method'}};
	}
}

function whereabouts(tag) {
	const {E2E_SIDE, E2E_EXTRA} = process.env;
	return `tag=${tag} side=${E2E_SIDE} extra=${E2E_EXTRA} cwd=${process.cwd()} ppid=${process.ppid}`;
}
