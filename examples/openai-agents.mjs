// The OpenAI Agents SDK with the machines of longarm: `npm install @openai/agents` and OPENAI_API_KEY are needed.
//   node examples/openai-agents.mjs 'How full are the disks of devbox?' -e devbox
const [task, ...options] = process.argv.slice(2);
if (!task) {
	console.error('usage: node examples/openai-agents.mjs TASK [OPTIONS of longarm mcp]');
	process.exit(2);
}
const {Agent, MCPServerStdio, run} = await import('@openai/agents');

const longarm = new MCPServerStdio({name: 'longarm', command: 'longarm', args: ['mcp', ...options]});
await longarm.connect();
try {
	const agent = new Agent({name: 'operator', instructions: 'Use the tools of longarm.', mcpServers: [longarm]});
	const {finalOutput} = await run(agent, task);
	console.log(finalOutput);
} finally {
	// What it started goes on; `longarm ps` shows it.
	await longarm.close();
}
