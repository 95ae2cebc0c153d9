import {accessSync, constants, realpathSync} from 'node:fs';
import {delimiter, join} from 'node:path';
import {VERSION} from '../../../../shared/version.js';
import type {McpClient, ServerCommand} from './mcp-clients.js';

const PROGRAM = 'longarm';
/** Directories of `npx`, `pnpm dlx`, `yarn dlx` and `bunx`, which are removed at any time. */
const CACHE = /[\\/](?:_npx|dlx|dlx-[^\\/]+|bunx-[^\\/]+)[\\/]/;

/**
 * The command line that starts the server for a client. One that is started from a shell finds `longarm` as the shell
 * does; a desktop program has another PATH, and gets paths of the runtime and of this program. A program that was only
 * fetched to be run once is fetched by the client again.
 */
export function toServerCommand({isFromShell}: Pick<McpClient, 'isFromShell'>, args: readonly string[]): ServerCommand {
	const own = realpathSync(process.argv[1]!);
	if (CACHE.test(own)) return {command: 'npx', args: ['-y', `${PROGRAM}@${VERSION}`, 'mcp', ...args]};
	if (isFromShell && findOnPath(PROGRAM) === own) return {command: PROGRAM, args: ['mcp', ...args]};
	return {command: process.execPath, args: [own, 'mcp', ...args]};
}

/** The file behind the program that a shell would start; undefined if there is none. */
function findOnPath(program: string): string | undefined {
	for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
		const path = join(directory, program);
		try {
			accessSync(path, constants.X_OK);
			return realpathSync(path);
		} catch {
			// Not in this one.
		}
	}
	return undefined;
}
