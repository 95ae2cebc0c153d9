import {COMMANDS} from './commands.mjs';
import {CONNECTIONS} from './connections.mjs';
import {FILES} from './files.mjs';
import {MCP} from './mcp.mjs';
import {SESSIONS} from './sessions.mjs';

/**
 * What the stock client is put through, by name. A scenario is `{name, title, run}`; `model` names another model than
 * usual, `needsSandbox` and `isStdio` say what a machine or a caller has to have for it.
 */
export const SCENARIOS = [...COMMANDS, ...CONNECTIONS, ...FILES, ...MCP, ...SESSIONS].sort((one, other) =>
	one.name < other.name ? -1 : 1,
);
