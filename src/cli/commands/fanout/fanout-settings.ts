import {readFileSync} from 'node:fs';
import {type CommandSpec, parseArgv, RESULT_MODES} from '../../../jobs/command/command-spec.js';
import {
	DEFAULT_CONCURRENCY,
	DEFAULT_RULES,
	type FailureKind,
	type JobRules,
	type Placement,
	RETRY_REASONS,
} from '../../../jobs/job-description.js';
import {errorMessage} from '../../../shared/errors.js';
import type {OptionValues} from '../../command-definition.js';
import {parseWholeNumber} from '../../common/processes/option-values.js';
import {parseTimeOption} from '../../common/times.js';
import {usageError} from '../../exit-codes.js';
import type {AgentSpec} from './job-worker.js';

const MAX_CONCURRENCY = 64;
const AGENT_ONLY = [
	'instruction',
	'model',
	'baseUrl',
	'apiKeyEnv',
	'maxTurns',
	'reasoningEffort',
	'finishTurn',
	'remind',
];
const COMMAND_ONLY = ['result', 'stdin', 'logs'];

/** The rules of a job, from its options. */
export function readRules(options: OptionValues): JobRules {
	const maxConcurrency = readConcurrency(options);
	const maxFailures = options['failFast'] === true ? 1 : readCount(options, 'maxFailures', '--max-failures');
	const leaseMs = parseTimeOption('--lease', options['lease'] as string | undefined) ?? DEFAULT_RULES.leaseMs;
	return {
		maxConcurrency,
		maxRuntimeMs: readRuntime(options['maxRuntime'] as string | undefined),
		retries: readCount(options, 'retries', '--retries', 0) ?? 0,
		retryOn: readReasons(options['retryOn'] as string | undefined),
		countLost: options['countLost'] === true,
		...(maxFailures !== undefined && {maxFailures}),
		placement: readPlacement(options['placement'] as string | undefined),
		...readSchema(options['schema'] as string | undefined),
		leaseMs,
	};
}

/** The work of a job, from its options: a command, or an agent. */
export function readWork(options: OptionValues): CommandSpec | AgentSpec {
	const given = (['cmd', 'argv', 'agent'] as const).filter(name => options[name] !== undefined);
	if (given.length !== 1) throw usageError('say what is to be done with one of --cmd, --argv and --agent');
	const foreign = (given[0] === 'agent' ? COMMAND_ONLY : AGENT_ONLY).find(name => options[name] !== undefined);
	if (foreign !== undefined) {
		const flag = `--${foreign.replaceAll(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`;
		throw usageError(`${flag} does not go with --${given[0]}`);
	}
	return given[0] === 'agent' ? readAgent(options) : readCommand(options);
}

function readCommand(options: OptionValues): CommandSpec {
	const {cmd, argv} = options;
	return {
		kind: 'command',
		command: typeof cmd === 'string' ? {line: cmd} : {argv: readArgv(argv as string)},
		// A schema says that there has to be a result.
		result: readWord(options['result'] ?? (options['schema'] === undefined ? 'any' : 'auto'), '--result', RESULT_MODES),
		stdin: readWord(options['stdin'], '--stdin', ['row', 'none']),
		logs: readWord(options['logs'], '--logs', ['all', 'failed', 'none']),
	};
}

function readArgv(text: string): readonly string[] {
	try {
		return parseArgv(text);
	} catch (error) {
		throw usageError(`--argv: ${errorMessage(error)}`, error);
	}
}

function readAgent(options: OptionValues): AgentSpec {
	const {instruction, model, baseUrl, apiKeyEnv, reasoningEffort} = options as Record<string, string | undefined>;
	if (instruction === undefined || model === undefined || baseUrl === undefined) {
		throw usageError('--agent needs --instruction, --model and --base-url');
	}
	const text = instruction.startsWith('@') ? readText('--instruction', instruction.slice(1)) : instruction;
	if (text.trim() === '') throw usageError('instruction must be non-empty');
	const maxTurns = readCount(options, 'maxTurns', '--max-turns');
	return {
		kind: 'agent',
		instruction: text,
		model,
		baseUrl,
		...(apiKeyEnv !== undefined && {apiKeyEnv}),
		...(maxTurns !== undefined && {maxTurns}),
		...(reasoningEffort !== undefined && {reasoningEffort}),
		finishTurn: options['finishTurn'] === true,
		remind: options['remind'] === true,
	};
}

/** One of the words; the first by default. */
export function readWord<W extends string>(given: unknown, flag: string, words: readonly W[]): W {
	const word = (given ?? words[0]) as W;
	if (words.includes(word)) return word;
	throw usageError(`${flag} ${String(given)}: expected ${words.join(', ')}`);
}

function readConcurrency(options: OptionValues): number {
	const count = readCount(options, 'maxConcurrency', '--max-concurrency') ?? DEFAULT_CONCURRENCY;
	// Commander turns `--no-cap` into `cap: false`.
	if (count <= MAX_CONCURRENCY || options['cap'] === false) return count;
	throw usageError(`--max-concurrency ${count}: at most ${MAX_CONCURRENCY}, unless with --no-cap`);
}

function readCount(options: OptionValues, name: string, flag: string, min = 1): number | undefined {
	const text = options[name] as string | undefined;
	if (text === undefined) return undefined;
	const count = parseWholeNumber(flag, text);
	if (count >= min) return count;
	throw usageError(`${flag} ${text}: must be ${min} or more`);
}

function readRuntime(text: string | undefined): number {
	if (text === undefined) return DEFAULT_RULES.maxRuntimeMs;
	const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
	if (seconds >= 1) return seconds * 1000;
	throw usageError(`--max-runtime ${text}: expected seconds, 1 or more`);
}

function readReasons(text: string | undefined): readonly FailureKind[] {
	if (text === undefined) return DEFAULT_RULES.retryOn;
	return text.split(',').map(word => readWord(word.trim(), '--retry-on', RETRY_REASONS));
}

function readPlacement(text = 'least-busy'): Placement {
	if (text === 'least-busy' || text === 'round-robin') return {kind: text};
	if (text.startsWith('column:')) return {kind: 'column', column: text.slice('column:'.length)};
	throw usageError(`--placement ${text}: expected least-busy, round-robin or column:NAME`);
}

function readSchema(path: string | undefined): {schema?: unknown} {
	if (path === undefined) return {};
	try {
		return {schema: JSON.parse(readText('--schema', path)) as unknown};
	} catch (error) {
		if (!(error instanceof SyntaxError)) throw error;
		throw usageError(`--schema ${path} is not JSON: ${error.message}`, error);
	}
}

function readText(flag: string, path: string): string {
	try {
		return readFileSync(path, 'utf8');
	} catch (error) {
		throw usageError(`${flag}: ${errorMessage(error)}`, error);
	}
}
