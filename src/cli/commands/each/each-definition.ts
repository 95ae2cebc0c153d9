import {type CommandDefinition, JSON_OPTION} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {EXIT} from '../../exit-codes.js';
import {CWD_OPTION, VARIABLE_OPTION} from '../run/run-definition.js';

export const EACH: CommandDefinition = {
	name: 'each',
	ownsStreams: true,
	summary: 'run one command on many machines; equal outputs are shown once',
	arguments: [
		{
			name: 'COMMAND',
			help: 'the command and its arguments; `--` in front is only needed if it begins with a dash',
			isRepeated: true,
			completes: {kind: 'command'},
		},
	],
	options: [
		{
			flags: '-e, --environment <SELECTOR>',
			help: 'where: names, addresses, labels and pools, joined by commas: a,b,@os=linux,@os=linux+arch=arm64,pool:gpu; may be given several times',
			isRepeated: true,
			completes: {kind: 'environment'},
		},
		...TRUST_OPTIONS,
		CWD_OPTION,
		VARIABLE_OPTION,
		{
			flags: '--timeout <TIME>',
			help: 'ask the command to end after this time on each machine, and kill it a second later',
		},
		{flags: '--parallel <N>', help: 'machines at the same time (default: 16)'},
		{
			flags: '--canary <N>',
			help: 'run it on the first N machines alone, and on the others only if it exits with 0 there',
		},
		{flags: '--stop-after <N>', help: 'begin with no more machines after N failures'},
		{
			flags: '--stream',
			help: 'write output as it comes, each line with the name of its machine, instead of folding it',
		},
		{...JSON_OPTION, help: 'print outcomes and output of all as one JSON object when all are over'},
	],
	passesThrough: true,
	details: [
		'Machines on which the command ends in the same way with the same output are one group: a line with their number, the outcome and their names, and the output below it, once. Failures come first. Whether outputs are equal is judged by all of it, though only the first and the last 32 KiB of each stream are shown.',
		'@KEY=VALUE selects all environments of environments.toml that have this label (longarm env add --label), @A=B+C=D those that have both. If none has, and for pool:NAME, all machines of the hub that are meant and connected now; NAME/pool:NAME and NAME/@KEY=VALUE always ask the hub of the environment NAME. A name that is not known, and a label that no machine has, are errors: nothing is run then. cmd:COMMAND needs an -e of its own, since commas may be in it.',
		'The standard input of the command is empty. A machine that cannot be reached, or whose link is lost before the exit is known, is lost: it is never counted as an exit, and the command may still run there. A machine that --canary or --stop-after leave out is skipped.',
		'Ctrl-C ends the command on the machines where it runs, leaves the others out and shows the outcomes so far; the second one leaves at once.',
		'--json prints {"machines", "succeeded", "failed", "lost", "skipped", "groups"}; each group has "names", "outcome" (exited, failed, lost or skipped), "exitCode" and "by" (exit, signal, timeout or aborted) of an exit, "messages" by name of failed and lost ones, and "stdout" and "stderr" as longarm run --json has them.',
	],
	examples: [
		{command: 'longarm each -e web1,web2,db -- uname -r'},
		{command: 'longarm each -e @role=web -- systemctl is-active nginx', says: 'all that have the label'},
		{command: 'longarm each -e @role=web --canary 2 --stop-after 3 -- ./deploy.sh', says: 'two first'},
		{command: 'longarm each -e @os=linux+arch=arm64 --stream -- make test', says: 'lines as they come'},
		{command: "longarm each -e @os=linux --json -- df -P / | jq -r '.groups[].names[]'"},
		{command: 'longarm each -e ws://10.0.0.1:4500,ws://10.0.0.2:4500 -- uptime'},
	],
	exitCodes: [
		['0', 'the command exited with 0 on every machine'],
		[`${EXIT.failed}`, 'it ended otherwise on at least one'],
		[`${EXIT.misused}`, 'the command line or a setting is wrong; nothing was run'],
		[`${EXIT.notRun}`, 'at least one machine is lost, or could not start it; the others are shown'],
		[`${EXIT.interrupted}`, 'Ctrl-C; 128+n for signal n'],
		[`${EXIT.brokenPipe}`, 'the reader of the output closed the pipe (SIGPIPE); the command was ended'],
	],
	async run({arguments: [argv], options}) {
		const {runOnMachines} = await import('./each-command.js');
		return runOnMachines({
			selectors: (options['environment'] ?? []) as readonly string[],
			argv: argv as readonly string[],
			cwd: options['cwd'] as string | undefined,
			variables: (options['env'] ?? []) as readonly string[],
			timeout: options['timeout'] as string | undefined,
			parallel: options['parallel'] as string | undefined,
			canary: options['canary'] as string | undefined,
			stopAfter: options['stopAfter'] as string | undefined,
			stream: options['stream'] === true,
			json: options['json'] === true,
		});
	},
};
