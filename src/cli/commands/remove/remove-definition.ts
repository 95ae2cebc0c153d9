import {
	COMMON_EXIT_CODES,
	type CommandDefinition,
	ENVIRONMENT_OPTION,
	PROCESS_ARGUMENT,
	QUIET_OPTION,
} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {EXIT} from '../../exit-codes.js';

export const REMOVE: CommandDefinition = {
	name: 'rm',
	summary: 'forget processes that have ended, with their output on disk',
	arguments: [{...PROCESS_ARGUMENT, isRepeated: true}],
	options: [
		ENVIRONMENT_OPTION,
		...TRUST_OPTIONS,
		{flags: '-f, --force', help: 'stop those that have not ended, as longarm stop does, and forget them, too'},
		QUIET_OPTION,
	],
	details: ['Output of a process that was removed is gone: logs, replay and screen do not know it any more.'],
	examples: [{command: 'longarm rm build'}, {command: 'longarm rm -f -e devbox web worker'}],
	exitCodes: [
		[`${EXIT.failed}`, 'one could not be removed, because it has not ended, say; stderr says which and why'],
		COMMON_EXIT_CODES[1],
	],
	async run({arguments: [ids], options}) {
		const {removeProcesses} = await import('./remove-command.js');
		return removeProcesses(ids as readonly string[], {
			environment: options['environment'] as string | undefined,
			quiet: options['quiet'] === true,
			force: options['force'] === true,
		});
	},
};
