import {serveStdio} from '@modelcontextprotocol/server/stdio';
import {waitAtMost} from '../../shared/async/timeout.js';
import {AnsweringTransport} from './answering-transport.js';
import type {McpService} from './mcp-service.js';

export interface StdioOptions {
	/** Ends it at once. */
	readonly signal: AbortSignal;
	/** Time limit for the answers to requests that are open when the input ends. */
	readonly answerMs: number;
}

/** Serves the one client at our standard input and output, until that leaves. What it asked for before is answered. */
export async function serveMcpOverStdio({createServer}: McpService, {signal, answerMs}: StdioOptions): Promise<void> {
	const gone = new Promise<void>(resolve => {
		process.stdout.once('error', () => resolve());
		signal.addEventListener('abort', () => resolve(), {once: true});
	});
	const ended = new Promise<void>(resolve => {
		for (const event of ['end', 'close'] as const) process.stdin.once(event, resolve);
	});
	const transport = new AnsweringTransport(process.stdin);
	const handle = serveStdio(createServer, {transport, onerror: () => {}});
	await Promise.race([gone, ended]);
	await waitAtMost(Promise.race([gone, transport.finish()]), answerMs, signal);
	await handle.close();
}
