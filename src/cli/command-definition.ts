import {EXIT, type FailureCodes} from './exit-codes.js';

/** Completion a shell offers for a value. */
export type Completion =
	| {readonly kind: 'environment'}
	| {readonly kind: 'file'}
	| {readonly kind: 'directory'}
	/** A path of this machine, or `ENV:path`. */
	| {readonly kind: 'address'}
	/** A program and its arguments. */
	| {readonly kind: 'command'}
	/** Id or name of a process of the environment. */
	| {readonly kind: 'process'}
	| {readonly kind: 'words'; readonly words: readonly string[]};

export interface ArgumentDefinition {
	/** In capitals, as help and errors show it. */
	readonly name: string;
	readonly help: string;
	readonly isOptional?: true;
	/** Takes all remaining arguments. */
	readonly isRepeated?: true;
	readonly completes?: Completion;
}

export interface OptionDefinition {
	/** `-e, --environment <ENV>`, `--json`. */
	readonly flags: string;
	readonly help: string;
	/** May be given several times; the value is a list then. */
	readonly isRepeated?: true;
	readonly completes?: Completion;
}

/** An option of upstream's program that a command refuses by name, instead of as an unknown one. */
export interface RefusedOption {
	/** Beginning of the long name, such as `--aws-`. */
	readonly prefix: string;
	readonly reason: string;
	/** Tells what to do instead. */
	readonly hint: string;
}

export interface Example {
	readonly command: string;
	readonly says?: string;
}

/** Values of options by their long name in camel case: a string, a list, or true for a switch. */
export type OptionValues = Readonly<Record<string, string | readonly string[] | boolean | undefined>>;

export interface Invocation {
	/** As many as were declared; a repeated one is a list. */
	readonly arguments: readonly (string | readonly string[] | undefined)[];
	readonly options: OptionValues;
}

/**
 * One command, once: its parsing, its help, its page in docs/ and its completion all come from here. Definitions are
 * loaded at every start; what a command does is loaded when it is run.
 */
export interface CommandDefinition {
	/** `run`, `env add`. */
	readonly name: string;
	/** Other names of it. */
	readonly aliases?: readonly string[];
	readonly summary: string;
	readonly arguments?: readonly ArgumentDefinition[];
	readonly options?: readonly OptionDefinition[];
	readonly refusedOptions?: readonly RefusedOption[];
	/** Whether options end at the first argument, because the rest belongs to another program. */
	readonly passesThrough?: true;
	/** Whether it opens its standard streams itself, at the first write, and handles their errors. */
	readonly ownsStreams?: true;
	/** Paragraphs below the options. */
	readonly details?: readonly string[];
	readonly examples: readonly Example[];
	/** Beyond 0. */
	readonly exitCodes: readonly (readonly [code: string, meaning: string])[];
	readonly failureCodes?: FailureCodes;
	/** Settles with the exit code. */
	run(invocation: Invocation): Promise<number>;
}

/** Several commands under one name, such as `env`. */
export interface GroupDefinition {
	readonly name: string;
	readonly summary: string;
}

export const COMMON_EXIT_CODES = [
	[`${EXIT.failed}`, 'something failed; stderr says what'],
	[`${EXIT.misused}`, 'the command line or a setting is wrong; nothing was done'],
] as const;

export const ENVIRONMENT_OPTION: OptionDefinition = {
	flags: '-e, --environment <ENV>',
	help: 'where: a name from environments.toml, a ws:// or wss:// URL, registry+https://HUB/ID, NAME/ID for a machine at the hub of NAME, unix:PATH, cmd:COMMAND, or local (default: the first of LONGARM_ENVIRONMENT, LONGARM_EXEC_SERVER_URL, the default in environments.toml, local)',
	completes: {kind: 'environment'},
};

/** The same for commands that a hub may choose the machine for. */
export const POOL_ENVIRONMENT_OPTION: OptionDefinition = {
	...ENVIRONMENT_OPTION,
	help: ENVIRONMENT_OPTION.help.replace(
		'unix:PATH',
		'pool:NAME or @KEY=VALUE for one with a free slot that the hub chooses, unix:PATH',
	),
};

export const POOL_WAIT_OPTION: OptionDefinition = {
	flags: '--wait [TIME]',
	help: 'with pool:NAME and @KEY=VALUE: wait for a machine with a free slot, 10m or --wait=TIME (default: 3s)',
};

/** A process that was started before. */
export const PROCESS_ARGUMENT: ArgumentDefinition = {
	name: 'ID',
	help: 'id or name of the process, as ps shows them',
	completes: {kind: 'process'},
};

/** The same where holders of a share link may ask, too. */
export const SHARED_PROCESS_ARGUMENT: ArgumentDefinition = {
	...PROCESS_ARGUMENT,
	help: 'id or name of the process, as ps shows them, or a link of longarm share',
};

/** Addresses of commands that only read. */
export const READ_ADDRESS_HELP =
	'ENV:PATH, ws://HOST:PORT:PATH or unix:SOCKET:PATH; a path alone is one of the environment of -e or of the default one, local:PATH always one of this machine; of other machines * ? [] in quotes match names';

export const QUIET_OPTION: OptionDefinition = {
	flags: '-q, --quiet',
	help: 'do not say on a terminal which environment is the default',
};

export const JSON_OPTION: OptionDefinition = {flags: '--json', help: 'print JSON'};
