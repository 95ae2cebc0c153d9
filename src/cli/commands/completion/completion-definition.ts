import {COMMON_EXIT_CODES, type CommandDefinition} from '../../command-definition.js';

export const COMPLETION: CommandDefinition = {
	name: 'completion',
	summary: 'print a script that completes longarm commands in your shell',
	arguments: [{name: 'SHELL', help: 'bash, zsh or fish', completes: {kind: 'words', words: ['bash', 'zsh', 'fish']}}],
	details: [
		'Completes commands, options, their values, files, the names of environments, programs where one is expected, and processes and paths of other machines where the server listens on a socket and answers within two seconds; no program, such as ssh, is started for it.',
	],
	examples: [
		{command: 'eval "$(longarm completion bash)"', says: 'bash: a line for ~/.bashrc'},
		{command: 'longarm completion zsh > "${fpath[1]}/_longarm"', says: 'zsh: once, then start zsh again'},
		{command: 'longarm completion fish > ~/.config/fish/completions/longarm.fish', says: 'fish: once'},
	],
	exitCodes: COMMON_EXIT_CODES,
	async run({arguments: [shell]}) {
		const {printCompletion} = await import('./completion-command.js');
		return printCompletion(shell as string);
	},
};
