import {MachineRefusalError} from '../machines/machine-lack.js';

/** Things that the clients of a server may do to processes, by whatever tool, task or form. */
export interface ProcessRights {
	readonly mayWatch: boolean;
	readonly mayStart: boolean;
	readonly mayType: boolean;
	readonly mayEnd: boolean;
}

/** The tool that stands for each right: whoever is not offered the tool has not the right either. */
const TOOLS: Readonly<Record<keyof ProcessRights, string>> = {
	mayWatch: 'wait',
	mayStart: 'exec',
	mayType: 'send',
	mayEnd: 'stop',
};

/** Rights of clients that are offered these tools. */
export function rightsOf(tools: readonly string[]): ProcessRights {
	const has = (right: keyof ProcessRights): boolean => tools.includes(TOOLS[right]);
	return {mayWatch: has('mayWatch'), mayStart: has('mayStart'), mayType: has('mayType'), mayEnd: has('mayEnd')};
}

/** Call where the thing is done, so that no way leads around it. */
export function requireRight(rights: ProcessRights, right: keyof ProcessRights): void {
	if (rights[right]) return;
	throw new MachineRefusalError(`this server does not offer \`${TOOLS[right]}\`, and nothing else that does the same`);
}
