import {serveStdio} from '@modelcontextprotocol/server/stdio';
import type {McpService} from './mcp-service.js';

/** Serves the one client at our standard input and output, until that leaves. */
export async function serveMcpOverStdio({createServer}: McpService, signal: AbortSignal): Promise<void> {
	const left = new Promise<void>(resolve => {
		for (const event of ['end', 'close'] as const) process.stdin.once(event, resolve);
		process.stdout.once('error', () => resolve());
		signal.addEventListener('abort', () => resolve(), {once: true});
	});
	const handle = serveStdio(createServer, {onerror: () => {}});
	await left;
	await handle.close();
}
