import type {McpService} from '../../../mcp/server/mcp-service.js';
import {usageError} from '../../exit-codes.js';

export interface HttpChoice {
	readonly http: string;
	readonly tokenFile: string | undefined;
	readonly allowedOrigins: readonly string[];
}

export async function serveHttp(_service: McpService, _choice: HttpChoice, _ended: AbortSignal): Promise<void> {
	throw usageError('--http is not there yet');
}
