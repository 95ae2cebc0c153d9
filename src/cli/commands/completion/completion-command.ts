import {defaultProvider} from '../../../environments/config/default-provider.js';
import {type EnvironmentProvider, environmentIds, readSnapshot} from '../../../environments/environment-provider.js';
import {EXIT, usageError} from '../../exit-codes.js';
import {COMMANDS, GROUPS} from '../command-list.js';
import {bashScript} from './bash.js';
import {type Completed, toCompleted} from './completed-command.js';
import {fishScript} from './fish.js';
import {zshScript} from './zsh.js';

const SCRIPTS: Readonly<Record<string, (completed: Completed) => string>> = {
	bash: bashScript,
	zsh: zshScript,
	fish: fishScript,
};
/** Argument with which the scripts ask for the names of environments. */
const NAMES = 'names';
/** Argument with which they ask for the addresses that begin like the word in this variable. */
const PATHS = 'paths';
/** Argument with which they ask for processes whose id or name begins like it, in the environment of this variable. */
const PROCESSES = 'processes';
const WORD_VARIABLE = 'LONGARM_WORD';
const PLACE_VARIABLE = 'LONGARM_AT';

export async function printCompletion(shell: string, provider?: EnvironmentProvider): Promise<number> {
	if (shell === PROCESSES) process.stdout.write(await listProcessNames(process.env[WORD_VARIABLE] ?? ''));
	else if (shell === PATHS) process.stdout.write(await listAddresses(process.env[WORD_VARIABLE] ?? ''));
	else process.stdout.write(shell === NAMES ? await listEnvironmentNames(provider) : scriptFor(shell));
	return EXIT.ok;
}

async function listAddresses(word: string): Promise<string> {
	const {completeAddress} = await import('./remote-paths.js');
	const addresses = await completeAddress(word);
	return addresses.map(address => `${address}\n`).join('');
}

async function listProcessNames(word: string): Promise<string> {
	const {completeProcess} = await import('./remote-processes.js');
	const found = await completeProcess(word, process.env[PLACE_VARIABLE] || undefined);
	return found.map(each => `${each}\n`).join('');
}

function scriptFor(shell: string): string {
	const script = Object.hasOwn(SCRIPTS, shell) && SCRIPTS[shell];
	if (script) return script(toCompleted(COMMANDS, GROUPS));
	throw usageError(`no completion for \`${shell}\`; known are bash, zsh, fish`);
}

async function listEnvironmentNames(provider: EnvironmentProvider = defaultProvider()): Promise<string> {
	const ids = environmentIds(await readSnapshot(provider));
	return ids.map(name => `${name}\n`).join('');
}
