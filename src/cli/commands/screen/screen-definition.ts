import {
	COMMON_EXIT_CODES,
	type CommandDefinition,
	ENVIRONMENT_OPTION,
	JSON_OPTION,
	QUIET_OPTION,
	SHARED_PROCESS_ARGUMENT,
} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';

export const SCREEN: CommandDefinition = {
	name: 'screen',
	summary: 'print the screen of the terminal of a process, now or at a past moment',
	arguments: [SHARED_PROCESS_ARGUMENT],
	options: [
		ENVIRONMENT_OPTION,
		...TRUST_OPTIONS,
		{
			flags: '--at <TIME>',
			help: 'as it was then: a date such as 2026-03-01T12:00:00Z, 10m ago, or +90s after the start; needs output on disk',
		},
		{flags: '--ansi', help: 'with colours'},
		JSON_OPTION,
		QUIET_OPTION,
	],
	details: [
		'Prints the lines from the first to the last that is not empty, without control characters; with --ansi sequences for colours are left in.',
		'--json prints {"rows", "cols", "cursor": {"row", "col", "isVisible"}, "alternate", "title", "lines", "seq"}, with "missedBytes" where output before that is no longer kept.',
	],
	examples: [
		{command: 'longarm screen vim'},
		{command: 'longarm screen -e devbox build --ansi'},
		{command: 'longarm screen build --at +90s', says: 'a minute and a half after its start'},
	],
	exitCodes: COMMON_EXIT_CODES,
	async run({arguments: [id], options}) {
		const {screen} = await import('./screen-command.js');
		return screen(id as string, {
			environment: options['environment'] as string | undefined,
			quiet: options['quiet'] === true,
			at: options['at'] as string | undefined,
			ansi: options['ansi'] === true,
			json: options['json'] === true,
		});
	},
};
