import {CommanderError} from 'commander';
import {errorMessage, LongarmError} from '../shared/errors.js';
import type {CommandDefinition, RefusedOption} from './command-definition.js';
import {COMMANDS, GROUPS} from './commands/command-list.js';
import {readSettings} from './commands/serve/serve-definition.js';
import {hintOf} from './common/hint-of.js';
import {writeMessage} from './common/messages.js';
import {EXIT, exitCodeOfError, FAILURE_CODES, type FailureCodes} from './exit-codes.js';
import {createProgram} from './program.js';
import {describeUnknownCommand} from './unknown-command.js';

const WORDS = readWords(process.argv.slice(2));
const UNKNOWN_COMMAND = 'commander.unknownCommand';
/** Asked by a server before it becomes this program: `--check-handoff VERSION serve ...`. */
const CHECK_HANDOFF = '--check-handoff';

void main();

/** `longarm help env add` is `longarm env add --help`, and `longarm` alone is `longarm --help`. */
function readWords(words: readonly string[]): string[] {
	const asked = isHelpByName(words) ? [...words.slice(1), '--help'] : [...words];
	return asked.length === 0 ? ['--help'] : asked;
}

function isHelpByName(words: readonly string[]): boolean {
	return words[0] === 'help';
}

async function main(): Promise<void> {
	// Started by a server only, and so no command for people.
	if (WORDS[0] === 'keeper') return runKeeper();
	let chosen: CommandDefinition | undefined;
	try {
		if (WORDS[0] === CHECK_HANDOFF) await answerHandoff(WORDS[1]!, WORDS.slice(2));
		const unknown = describeUnknownCommand(WORDS, isHelpByName(process.argv.slice(2)));
		if (unknown !== undefined) throw new CommanderError(EXIT.misused, UNKNOWN_COMMAND, unknown);
		await createProgram(WORDS[0], async (definition, invocation) => {
			chosen = definition;
			if (!definition.ownsStreams) ignoreBrokenStreams();
			process.exit(await definition.run(invocation));
		}).parseAsync(WORDS, {from: 'user'});
		process.exit(EXIT.ok);
	} catch (error) {
		ignoreBrokenStreams();
		process.exit(report(error, (chosen ?? findNamedCommand())?.failureCodes ?? FAILURE_CODES));
	}
}

async function runKeeper(): Promise<void> {
	try {
		const {keep} = await import('./commands/keeper/keep.js');
		await keep();
		process.exit(EXIT.ok);
	} catch (error) {
		process.exit(report(error, FAILURE_CODES));
	}
}

async function answerHandoff(version: string, words: string[]): Promise<void> {
	await createProgram(words[0], async (_definition, {options}) => {
		const {checkHandoff} = await import('./commands/serve/check-handoff.js');
		process.exit(await checkHandoff(version, await readSettings(options)));
	}).parseAsync(words, {from: 'user'});
}

/** The reader of our output may stop, `| head` say; anything more is up to the command. */
function ignoreBrokenStreams(): void {
	for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}

/** The command of this name, for a command line that could not be parsed; `mcp setup` rather than `mcp`. */
function findNamedCommand(): CommandDefinition | undefined {
	return findLongest(COMMANDS);
}

function findLongest<T extends {readonly name: string}>(all: readonly T[]): T | undefined {
	return all.filter(isNamed).sort((one, other) => other.name.length - one.name.length)[0];
}

function isNamed({name, aliases = []}: {readonly name: string; readonly aliases?: readonly string[]}): boolean {
	return name.split(' ').every((part, index) => part === WORDS[index]) || aliases.includes(WORDS[0]!);
}

/** Finds the option of the command line that the command refuses by name, and the reason. */
function findRefusedOption(): [flag?: string, refused?: RefusedOption] {
	for (const word of WORDS) {
		const refused = findNamedCommand()?.refusedOptions?.find(({prefix}) => word.startsWith(prefix));
		if (refused) return [word.split('=', 1)[0]!, refused];
	}
	return [];
}

/** Reports an error in one line and its hint in another; returns the exit code. */
function report(error: unknown, codes: FailureCodes): number {
	if (error instanceof CommanderError) {
		if (error.exitCode === 0) return EXIT.ok;
		const [flag, refused] = error.code === 'commander.unknownOption' ? findRefusedOption() : [];
		if (refused) {
			writeMessage(`error: ${flag} is not supported: ${refused.reason}`, `hint: ${refused.hint}`);
			return codes.misused;
		}
		// Some messages of commander are sentences.
		const text = error.message === '(outputHelp)' ? 'error: no command given' : error.message.replace(/\.$/, '');
		const about = findLongest([...COMMANDS, ...GROUPS])?.name;
		writeMessage(`${text}; see ${['longarm', about, '--help'].filter(Boolean).join(' ')}`);
		return error.code === UNKNOWN_COMMAND ? EXIT.misused : codes.misused;
	}
	if (error instanceof LongarmError) {
		writeMessage(`error: ${error.message}`, `hint: ${error.hint}`);
		return exitCodeOfError(error, codes);
	}
	writeMessage(`error: ${errorMessage(error)}`);
	const hint = hintOf(error);
	if (hint !== undefined) writeMessage(`hint: ${hint}`);
	return codes.failed;
}
