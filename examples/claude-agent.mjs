// The Claude Agent SDK with the machines of longarm: `npm install @anthropic-ai/claude-agent-sdk` and ANTHROPIC_API_KEY are needed.
//   node examples/claude-agent.mjs 'How full are the disks of devbox?' -e devbox
const [task, ...options] = process.argv.slice(2);
if (!task) {
	console.error('usage: node examples/claude-agent.mjs TASK [OPTIONS of longarm mcp]');
	process.exit(2);
}
const {query} = await import('@anthropic-ai/claude-agent-sdk');

const messages = query({
	prompt: task,
	options: {
		mcpServers: {longarm: {type: 'stdio', command: 'longarm', args: ['mcp', ...options]}},
		allowedTools: ['mcp__longarm'],
	},
});
for await (const message of messages) if (message.type === 'result') console.log(message.result);
