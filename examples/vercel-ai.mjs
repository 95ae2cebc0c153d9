// The Vercel AI SDK with the machines of longarm: `npm install ai @ai-sdk/mcp` and a key for its gateway are needed.
//   node examples/vercel-ai.mjs 'How full are the disks of devbox?' -e devbox
const [task, ...options] = process.argv.slice(2);
if (!task) {
	console.error('usage: node examples/vercel-ai.mjs TASK [OPTIONS of longarm mcp]');
	process.exit(2);
}
const {generateText, stepCountIs} = await import('ai');
const {experimental_createMCPClient: createMcpClient} = await import('@ai-sdk/mcp');
const {Experimental_StdioMCPTransport: StdioTransport} = await import('@ai-sdk/mcp/mcp-stdio');

const client = await createMcpClient({
	transport: new StdioTransport({command: 'longarm', args: ['mcp', ...options]}),
});
try {
	const {text} = await generateText({
		model: process.env['MODEL'] ?? 'openai/gpt-5',
		tools: await client.tools(),
		stopWhen: stepCountIs(20),
		prompt: task,
	});
	console.log(text);
} finally {
	// What it started goes on; `longarm ps` shows it.
	await client.close();
}
