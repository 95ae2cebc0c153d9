import {COPY_TOOL} from './copy-tool.js';
import {EDIT_TOOL} from './edit-tool.js';
import {EXEC_TOOL} from './exec-tool.js';
import {FIND_TOOL} from './find-tool.js';
import {LOGS_TOOL} from './logs-tool.js';
import {PORT_TOOL} from './port-tool.js';
import {PS_TOOL} from './ps-tool.js';
import {READ_TOOL} from './read-tool.js';
import {SCREEN_TOOL} from './screen-tool.js';
import {SEND_TOOL} from './send-tool.js';
import {STOP_TOOL} from './stop-tool.js';
import type {Tool, ToolGroup} from './tool.js';
import {WAIT_TOOL} from './wait-tool.js';
import {WRITE_TOOL} from './write-tool.js';

/** All tools, in the order in which clients see them: always the same, so that their caches hold. */
export const TOOLS: readonly Tool[] = [
	EXEC_TOOL,
	WAIT_TOOL,
	SEND_TOOL,
	SCREEN_TOOL,
	LOGS_TOOL,
	PS_TOOL,
	STOP_TOOL,
	READ_TOOL,
	WRITE_TOOL,
	EDIT_TOOL,
	FIND_TOOL,
	COPY_TOOL,
	PORT_TOOL,
];

/** The tools of some groups; with `isReadOnly`, those that change nothing; without a network, none that reaches ports. */
export function selectTools(groups: readonly ToolGroup[], isReadOnly: boolean, hasNetwork = true): Tool[] {
	const chosen = groups.filter(group => group !== 'ports' || hasNetwork);
	return TOOLS.filter(tool => tool.groups.some(group => chosen.includes(group)) && (tool.isReadOnly || !isReadOnly));
}
