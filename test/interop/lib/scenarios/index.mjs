import {COMMANDS} from './commands.mjs';
import {CONNECTIONS} from './connections.mjs';
import {FILES} from './files.mjs';
import {HOMES} from './homes.mjs';
import {MCP} from './mcp.mjs';
import {SESSIONS} from './sessions.mjs';

/**
 * What the stock client is put through, by name. A scenario is `{name, title, run}`; `model` names another model than
 * usual, `needsSandbox`, `needsServerHome` and `isStdio` say what a machine or a caller has to have for it;
 * `rewrite` changes messages of the server, and needs a proxy between both.
 */
export const SCENARIOS = [...COMMANDS, ...CONNECTIONS, ...FILES, ...HOMES, ...MCP, ...SESSIONS].sort((one, other) =>
	one.name < other.name ? -1 : 1,
);
