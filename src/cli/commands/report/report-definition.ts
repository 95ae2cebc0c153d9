import {COMMON_EXIT_CODES, type CommandDefinition} from '../../command-definition.js';

export const REPORT: CommandDefinition = {
	name: 'report',
	summary: 'report the result of an item, from a command of longarm fanout',
	arguments: [{name: 'RESULT', help: 'a JSON object, @FILE to read it from a file, or - for stdin'}],
	options: [{flags: '--stop', help: 'end the job, too: no more items are started'}],
	details: [
		'The first report counts. On the machine of the runner the answer comes at once: a result that does not match the schema can be corrected, three reports at most, and the command is ended some time after one was accepted. Elsewhere the report is read when the command has ended.',
		'The answer is printed as JSON: {"accepted": true}, or {"accepted": false, "reason": ...} with unknown_item, not_running, wrong_worker, not_an_object or schema.',
	],
	examples: [
		{command: `longarm report '{"size": 12}'`},
		{command: 'make-result | longarm report -'},
		{command: 'longarm report @result.json --stop'},
	],
	exitCodes: [['1', 'the report was not accepted, or could not be made'], COMMON_EXIT_CODES[1]],
	async run({arguments: [result], options}) {
		const {report} = await import('./report-command.js');
		return report(result as string, options['stop'] === true);
	},
};
