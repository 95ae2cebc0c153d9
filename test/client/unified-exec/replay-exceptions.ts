/** How a replay is run. */
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
const unlessStrict = ({strictCompat}: ReplayedIn) => !strictCompat;
const unlessStrictOrStock = ({strictCompat, isStock}: ReplayedIn) => !strictCompat && !isStock;
const onRemote = ({isRemote}: ReplayedIn) => isRemote;

const ONE_FINISH_RULE = 'a child that holds the output open keeps nobody waiting once the exit is known';
const CLOCK_AT_SPAWN = 'the window begins at the spawn, not 150 ms later: one line less fits into it';
const SIGNAL_ON_TERMINAL = 'a signal on a terminal is told as 128 and its number, as it is without one';
const ONE_REMOTE_SHELL = 'recorded locally; behind an exec server there is only the shell that it reports';

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
		{
			call: `${conversation} 4-0`,
			applies: unlessStrict,
			reason: CLOCK_AT_SPAWN,
			text: running(3, 'l1\nl2\nl3\n'),
		},
		{
			call: `${conversation} 5-0`,
			applies: unlessStrict,
			reason: `${CLOCK_AT_SPAWN}, and one more into this one`,
			text: exited(0, 3, 'l4\nl5\nl6\n'),
		},
		{call: `${conversation} 9-0`, applies: unlessStrictOrStock, reason: SIGNAL_ON_TERMINAL, text: exited(130, 1, '^C')},
	]),
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

/** How many calls are expected to differ. */
export function exceptionsIn(how: ReplayedIn): number {
	return RULES.filter(({applies}) => applies(how)).length;
}

function exited(code: number, tokens: number, output: string): string {
	return answered(`Process exited with code ${code}`, tokens, output);
}

function running(tokens: number, output: string): string {
	return answered('Process running with session ID <session>', tokens, output);
}

function answered(state: string, tokens: number, output: string): string {
	const lines = ['Chunk ID: <chunk>', 'Wall time: <wall> seconds', state, `Original token count: ${tokens}`];
	return `${lines.join('\n')}\nOutput:\n${output}`;
}
