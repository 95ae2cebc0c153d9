import {COMMON_EXIT_CODES, type CommandDefinition, JSON_OPTION} from '../../command-definition.js';
import {EXIT} from '../../exit-codes.js';

export const DOCTOR: CommandDefinition = {
	name: 'doctor',
	summary: 'say what a server on this machine can do, and how to mend what it cannot',
	options: [JSON_OPTION],
	details: ['What is only limited does not count as a failure.'],
	examples: [{command: 'longarm doctor'}, {command: 'longarm doctor --json | jq \'.[] | select(.status != "ok")\''}],
	exitCodes: [[`${EXIT.failed}`, 'something does not work at all'], COMMON_EXIT_CODES[1]],
	async run({options}) {
		const {doctor} = await import('./doctor-command.js');
		return doctor({json: options['json'] === true});
	},
};
