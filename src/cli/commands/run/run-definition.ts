import {
	type CommandDefinition,
	type OptionDefinition,
	type OptionValues,
	POOL_ENVIRONMENT_OPTION,
	POOL_WAIT_OPTION,
	QUIET_OPTION,
} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {EXIT, PASSED_THROUGH_FAILURE_CODES} from '../../exit-codes.js';
import type {SandboxRequest} from './sandbox-request.js';

export const CWD_OPTION: OptionDefinition = {
	flags: '--cwd <DIR>',
	help: 'working directory there, ~ is the home directory there (default: this one locally, the one of the server otherwise)',
	completes: {kind: 'directory'},
};

export const VARIABLE_OPTION: OptionDefinition = {
	flags: '--env <NAME=VALUE>',
	help: 'set a variable of the command; may be given several times',
	isRepeated: true,
};

export const SANDBOX_OPTIONS: readonly OptionDefinition[] = [
	{
		flags: '--sandbox <POLICY>',
		help: 'restrict files and network: read-only, workspace-write, or a JSON file with a policy',
		completes: {kind: 'words', words: ['read-only', 'workspace-write']},
	},
	{
		flags: '--writable <DIR>',
		help: 'with --sandbox: a directory there that may be written, too (relative to --cwd); may be given several times',
		isRepeated: true,
		completes: {kind: 'directory'},
	},
	{flags: '--network', help: 'with --sandbox: let it use the network'},
];

export const SANDBOX_DETAILS =
	'With --sandbox read-only every file can be read, none written, and there is no network; with workspace-write the working directory, /tmp and TMPDIR can be written, too, except .git, .codex and .agents. Where that cannot be enforced nothing is run. See docs/sandbox.md.';

export const RUN: CommandDefinition = {
	name: 'run',
	aliases: ['exec'],
	ownsStreams: true,
	summary: 'run a command there as if it were here: streams, signals and exit code',
	arguments: [
		{
			name: 'COMMAND',
			help: 'the command and its arguments; `--` in front is only needed if it begins with a dash',
			isRepeated: true,
			completes: {kind: 'command'},
		},
	],
	options: [
		POOL_ENVIRONMENT_OPTION,
		POOL_WAIT_OPTION,
		...TRUST_OPTIONS,
		CWD_OPTION,
		VARIABLE_OPTION,
		{flags: '--timeout <TIME>', help: 'ask the command to end after this time, and kill it a second later'},
		{flags: '-t, --tty', help: 'give the command a terminal, in place of ours if we have one'},
		{flags: '-n, --no-stdin', help: 'leave our standard input alone; that of the command is empty'},
		{flags: '--json', help: 'print output and end as one JSON object when the command is over'},
		{
			flags: '-d, --detach',
			help: 'start it, print its id and leave: it lives until it ends or is stopped, or its server ends',
		},
		{flags: '--keep', help: 'the same, and it lives on when its server ends or crashes'},
		{flags: '--name <NAME>', help: 'a name for it, as good as its id for ps, logs, attach and the like while it lives'},
		{flags: '--label <KEY=VALUE>', help: 'a label to find it by; may be given several times', isRepeated: true},
		{flags: '--record', help: 'keep its output on disk, with the sizes of its terminal, for replay and export'},
		...SANDBOX_OPTIONS,
		QUIET_OPTION,
	],
	passesThrough: true,
	details: [
		'Standard input is passed on to its end, output comes back byte by byte and on the stream it was written to. A slow reader makes the command wait; nothing is dropped.',
		'SIGINT (Ctrl-C), SIGTERM, SIGHUP and SIGQUIT are passed on. The second one kills the command; without a link to it, or with a third, longarm leaves.',
		'A lost connection is retried for 45 seconds while the command keeps running; stderr gets a line when it is lost and when it is back. If the server could not keep all output in the meantime, the size of the missing part is reported.',
		'Background processes of the command keep running on this machine as they would without longarm. On another machine they end with the session: 80 seconds after the client unless the server has another --detached-session, and with the server if that was started for the command (cmd:).',
		'With --tty on a terminal, typing ~. at the beginning of a line leaves whatever the link does; ~~ is one tilde. A lost connection is retried for as long as the terminal is open then, see longarm shell.',
		'--json prints {"exitCode", "reason", "stdout", "stdoutBytes", "stderr", "stderrBytes", "truncated", "durationMs"}. The reason is exit, signal (with the name as "signal"), timeout, aborted, disconnected or spawn, with an "error" where there was one; without an exit the exitCode is null. Of each stream the first and the last 512 KiB are kept, with a line between them that tells how much is missing. Output that is not UTF-8 is base64, and "stdoutEncoding" or "stderrEncoding" says so. The exit code of longarm is the same as without it.',
		'With --detach the id is all that is printed (with --json, {"id", "name"}), and 0 the exit code. Output goes to disk. The input of the command is empty, but for --tty, where the first to attach types. On this machine, and on one that is reached by a command (cmd:), it is started by a daemon of yours over there, which listens on a socket that is yours alone, is started by the first command that needs it and exits when it has been idle for 10 minutes (see longarm daemon stop): --name, --label and --record need it, too.',
		'With -e pool:NAME or @KEY=VALUE the hub chooses a machine that has a free slot, and a line on a terminal says which (on NAME/ID): ps, logs, attach and the like take that name. --json and --detach tell it as "environment", --detach without --json on stderr.',
		SANDBOX_DETAILS,
	],
	examples: [
		{command: 'longarm run -- make test', says: 'on this machine'},
		{command: 'longarm run -e devbox --cwd /srv/app npm test'},
		{command: 'tar c src | longarm run -e devbox -- tar x -C /tmp', says: 'both ways, any bytes'},
		{command: 'longarm run -e "cmd:ssh devbox longarm serve --listen stdio" -- uname -a', says: 'over ssh'},
		{command: 'longarm run -e devbox --timeout 30s -- ./slow; echo $?', says: '124 if it took too long'},
		{command: 'longarm run -e devbox --tty -- htop'},
		{
			command: 'while read host; do longarm run -n -e "$host" -- uptime; done < hosts',
			says: 'the loop keeps its input',
		},
		{command: 'longarm run -d -e devbox --name build -- make all', says: 'see longarm ps, logs, attach, wait'},
		{command: 'longarm run -e pool:gpu --wait=1h -- python train.py', says: 'on any machine of the pool'},
		{command: 'longarm run -e @os=linux+arch=arm64 -- make test', says: 'on one with these labels'},
		{command: 'longarm run --json -e devbox -- git status | jq -r .stdout'},
		{command: 'longarm run --sandbox workspace-write -- npm test', says: 'writes here and in /tmp only'},
	],
	exitCodes: [
		['N', 'the command exited with N; 128+n if signal n ended it'],
		[`${EXIT.timedOut}`, 'the command took longer than --timeout'],
		[
			`${EXIT.notRun}`,
			'longarm itself failed: unreachable, link or output lost, wrong usage, output could not be written',
		],
		[`${EXIT.notExecutable}`, 'the command is not executable'],
		[`${EXIT.notFound}`, 'the command was not found'],
		[`${EXIT.brokenPipe}`, 'the reader of the output closed the pipe (SIGPIPE); the command was ended'],
	],
	failureCodes: PASSED_THROUGH_FAILURE_CODES,
	async run({arguments: [argv], options}) {
		const {runCommand} = await import('./run-command.js');
		return runCommand({
			environment: options['environment'] as string | undefined,
			wait: options['wait'],
			quiet: options['quiet'] === true,
			argv: argv as readonly string[],
			cwd: options['cwd'] as string | undefined,
			variables: (options['env'] ?? []) as readonly string[],
			timeout: options['timeout'] as string | undefined,
			tty: options['tty'] === true,
			stdin: options['stdin'] !== false,
			json: options['json'] === true,
			sandbox: toSandboxRequest(options),
			sharing: {
				detach: options['detach'] === true,
				keep: options['keep'] === true,
				name: options['name'] as string | undefined,
				labels: (options['label'] ?? []) as readonly string[],
				record: options['record'] === true,
			},
		});
	},
};

export function toSandboxRequest(options: OptionValues): SandboxRequest {
	return {
		policy: options['sandbox'] as string | undefined,
		writable: (options['writable'] ?? []) as readonly string[],
		network: options['network'] === true,
	};
}
