import {COPY} from './copy-tool.js';
import {EDIT} from './edit-tool.js';
import {EXEC} from './exec-tool.js';
import {FIND} from './find-tool.js';
import {LOGS} from './logs-tool.js';
import {PORT} from './port-tool.js';
import {PS} from './ps-tool.js';
import {READ} from './read-tool.js';
import {SCREEN} from './screen-tool.js';
import {SEND} from './send-tool.js';
import {STOP} from './stop-tool.js';
import type {Tool, ToolGroup} from './tool.js';
import {WAIT} from './wait-tool.js';
import {WRITE} from './write-tool.js';

/** All tools, in the order in which clients see them: always the same, so that their caches hold. */
export const TOOLS: readonly Tool[] = [EXEC, WAIT, SEND, SCREEN, LOGS, PS, STOP, READ, WRITE, EDIT, FIND, COPY, PORT];

/** The tools of some groups; with `isReadOnly`, those that change nothing. */
export function selectTools(groups: readonly ToolGroup[], isReadOnly: boolean): Tool[] {
	return TOOLS.filter(tool => tool.groups.some(group => groups.includes(group)) && (tool.isReadOnly || !isReadOnly));
}
