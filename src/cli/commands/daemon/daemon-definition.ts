import {COMMON_EXIT_CODES, type CommandDefinition, type GroupDefinition} from '../../command-definition.js';
import {EXIT} from '../../exit-codes.js';

export const DAEMON: GroupDefinition = {name: 'daemon', summary: 'stop the local daemon'};

export const DAEMON_STOP: CommandDefinition = {
	name: 'daemon stop',
	summary: 'stop the local daemon, which runs your detached processes on this machine',
	options: [{flags: '-f, --force', help: 'also if processes run that end with the daemon'}],
	details: [
		'The local daemon is started by the first command that needs it, such as run --detach without -e, and exits after 10 minutes without clients and processes. The next command that needs it starts it again; processes that have ended are still listed then, with their output.',
		'Processes that were started with --keep continue without the daemon. All others end with it: while there are any, --force is needed. A daemon that does not run is no failure.',
	],
	examples: [{command: 'longarm daemon stop'}],
	exitCodes: [[`${EXIT.failed}`, 'processes run in it, or it does not exit; stderr says which'], COMMON_EXIT_CODES[1]],
	async run({options}) {
		const {stopDaemon} = await import('./daemon-stop.js');
		return stopDaemon({force: options['force'] === true});
	},
};
