import {EXEC} from './exec-tool.js';
import {PS} from './ps-tool.js';
import {STOP} from './stop-tool.js';
import type {Tool, ToolGroup} from './tool.js';
import {WAIT} from './wait-tool.js';

/** All tools, in the order in which clients see them: always the same, so that their caches hold. */
export const TOOLS: readonly Tool[] = [EXEC, WAIT, PS, STOP];

/** The tools of some groups; with `isReadOnly`, those that change nothing. */
export function selectTools(groups: readonly ToolGroup[], isReadOnly: boolean): Tool[] {
	return TOOLS.filter(tool => tool.groups.some(group => groups.includes(group)) && (tool.isReadOnly || !isReadOnly));
}
