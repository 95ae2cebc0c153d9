import {readOptions} from '../../shared/call-options.js';
import type {ProcessSession} from '../process/process-session.js';
import {LIST_OPTIONS, type ListedProcess, type ListProcessesOptions} from '../process/shared-process.js';
import {requireCapability} from './require-capability.js';

/** Lists processes. A server that does not know the options would answer with those of the session only. */
export async function listProcesses(
	session: Pick<ProcessSession, 'describe' | 'repeat'>,
	options: ListProcessesOptions,
): Promise<ListedProcess[]> {
	const {all, labels, includeEnded} = readOptions<ListProcessesOptions>(options, LIST_OPTIONS, 'list()');
	const {capabilities} = await session.describe();
	requireCapability(capabilities, 'processList', 'list()');
	if (all || labels || includeEnded) requireCapability(capabilities, 'processAttach', 'options of list()');
	const request = {...(all && {all}), ...(labels && {labels}), ...(includeEnded && {includeEnded})};
	return (await session.repeat('process/list', request)).processes;
}
