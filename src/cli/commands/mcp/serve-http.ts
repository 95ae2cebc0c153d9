import {McpListener} from '../../../mcp/server/http/mcp-listener.js';
import type {McpService} from '../../../mcp/server/mcp-service.js';
import {Authenticator} from '../../../server/auth/authenticator.js';
import {silentLogger} from '../../../shared/logger.js';
import {isLoopback} from '../../../transports/node/loopback.js';
import {collectGarbageWhenIdle} from '../../common/idle-gc.js';
import {writeLines} from '../../common/messages.js';
import {usageError} from '../../exit-codes.js';

export interface HttpChoice {
	/** `127.0.0.1:7780`. */
	readonly http: string;
	readonly tokenFile: string | undefined;
	readonly allowedOrigins: readonly string[];
}

const LAST_PORT = 65_535;

/** Serves streamable HTTP until the signal; one line on stdout tells where. */
export async function serveHttp(service: McpService, choice: HttpChoice, ended: AbortSignal): Promise<void> {
	const {host, port} = parseHttpAddress(choice.http);
	const {tokenFile: path, allowedOrigins} = choice;
	if (path === undefined && !isLoopback(host)) {
		throw usageError(`--http ${choice.http}: other machines could connect; give --token-file, or listen on 127.0.0.1`);
	}
	if (path === undefined && process.platform !== 'linux') {
		throw usageError('--http needs --token-file: this system does not tell which user connects');
	}
	const authenticator = path === undefined ? undefined : new Authenticator({kind: 'token-file', path});
	await using listener = await McpListener.listen(service, {host, port, authenticator, allowedOrigins});
	collectGarbageWhenIdle(silentLogger);
	writeLines([listener.url]);
	if (ended.aborted) return;
	await new Promise<void>(resolve => {
		ended.addEventListener('abort', () => resolve(), {once: true});
	});
}

/** `127.0.0.1:7780`, `[::1]:0`, `localhost:80`. */
export function parseHttpAddress(text: string): {readonly host: string; readonly port: number} {
	const [, ipv6, name, digits] = /^(?:\[([\da-fA-F:.]+)\]|([\w.-]+)):(\d{1,5})$/.exec(text) ?? [];
	const host = ipv6 ?? name;
	if (host === undefined || Number(digits) > LAST_PORT) {
		throw usageError(`--http ${text}: expected an address and a port, such as 127.0.0.1:7780`);
	}
	return {host: host === 'localhost' ? '127.0.0.1' : host, port: Number(digits)};
}
