import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {BYTES_PER_TOKEN} from '../../src/agent-tools/exec-limits.js';

/** PATH of the recorded machine. */
export const RECORDED_SEARCH_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Configuration of a replay. */
export interface ReplayedIn {
	readonly isRemote: boolean;
	readonly strictCompat: boolean;
	/** On the peer's own server, which tells less than ours. */
	readonly isStock: boolean;
}

/** A call that has to come out differently from what was recorded. */
export interface Exception {
	readonly reason: string;
	readonly text: string;
}

interface Rule extends Exception {
	/** The conversation and the call in it. */
	readonly call: `${'local' | 'remote'} ${number} ${number}-${number}`;
	readonly applies: (how: ReplayedIn) => boolean;
}

const always = () => true;
const unlessStrictOrStock = ({strictCompat, isStock}: ReplayedIn) => !strictCompat && !isStock;
const onRemote = ({isRemote}: ReplayedIn) => isRemote;
const onLocalWithZsh = ({isRemote}: ReplayedIn) => !isRemote && zsh !== undefined;

const ONE_FINISH_RULE = 'a child that holds the output open keeps nobody waiting once the exit is known';
const SIGNAL_ON_TERMINAL = 'a signal on a terminal is told as 128 and its number, as it is without one';
const ONE_REMOTE_SHELL = 'recorded locally; behind an exec server there is only the shell that it reports';

const HAS_ZSH = 'the recorded machine had no zsh to stand in for one that is not there; this machine has';

const zsh = RECORDED_SEARCH_PATH.split(':')
	.map(directory => join(directory, 'zsh'))
	.find(existsSync);
const zshLine = `${zsh}\n`;

const RULES: readonly Rule[] = [
	{call: 'remote 2 9-0', applies: always, reason: ONE_FINISH_RULE, text: exited(0, 1, 'bg\n')},
	{call: 'remote 3 0-0', applies: always, reason: ONE_FINISH_RULE, text: exited(0, 2, 'bg\ndone\n')},
	{
		call: 'remote 3 1-0',
		applies: always,
		reason: `${ONE_FINISH_RULE}, so the session of the call before is over`,
		text: 'write_stdin failed: Unknown process id <session>',
	},
	...(['local 1', 'remote 3'] as const).flatMap((conversation): Rule[] => [
		{call: `${conversation} 9-0`, applies: unlessStrictOrStock, reason: SIGNAL_ON_TERMINAL, text: exited(130, 1, '^C')},
	]),
	{
		call: 'local 0 16-0',
		applies: onLocalWithZsh,
		reason: HAS_ZSH,
		text: exited(0, Math.ceil(zshLine.length / BYTES_PER_TOKEN), zshLine),
	},
	...(['15-0', '16-0'] as const).map(
		(call): Rule => ({
			call: `local 0 ${call}`,
			applies: onRemote,
			reason: ONE_REMOTE_SHELL,
			text: 'environment `remote` only supports `bash`',
		}),
	),
];

export function exceptionFor(conversation: string, call: string, how: ReplayedIn): Exception | undefined {
	return RULES.find(rule => rule.call === `${conversation} ${call}` && rule.applies(how));
}

/** Number of calls that are expected to differ. */
export function exceptionsIn(how: ReplayedIn): number {
	return RULES.filter(({applies}) => applies(how)).length;
}

function exited(code: number, tokens: number, output: string): string {
	return answered(`Process exited with code ${code}`, tokens, output);
}

function answered(state: string, tokens: number, output: string): string {
	const lines = ['Chunk ID: <chunk>', 'Wall time: <wall> seconds', state, `Original token count: ${tokens}`];
	return `${lines.join('\n')}\nOutput:\n${output}`;
}
