import type {RunOptions} from '../../../client/run/run.js';
import type {RunResult} from '../../../client/run/run-result.js';
import {defaultProvider} from '../../../environments/config/default-provider.js';
import type {Environment} from '../../../environments/environment.js';
import {type EnvironmentSnapshot, readSnapshot} from '../../../environments/environment-provider.js';
import {type SelectedMachine, selectByAddress, selectMembers} from '../../../environments/many/hub-members.js';
import type {Machine} from '../../../environments/many/run-on-each.js';
import {splitSelector} from '../../../environments/many/selector.js';
import {findScheme} from '../../../transports/node/registry.js';
import {type OpenOptions, openEnvironment} from '../../common/environments.js';
import {relayStderr} from '../../common/messages.js';
import {withEnvironment} from '../../common/processes/open-process.js';
import {describeTarget, parseTarget, resolveTarget} from '../../common/resolve-target.js';
import {usageError} from '../../exit-codes.js';
import {readEnvironmentFacts, resolveDirectory} from '../run/attach/start-attached.js';

/**
 * The machines of selectors, each once. Connections are made when it is their turn, and end with the command.
 * `cwd` is resolved on each machine by itself.
 */
export async function selectMachines(selectors: readonly string[], cwd: string | undefined): Promise<Machine[]> {
	if (selectors.length === 0) throw usageError('say on which machines with -e: names, addresses or @KEY=VALUE');
	// Read once for all of them.
	const snapshot = await readSnapshot(defaultProvider());
	const options: OpenOptions = {provider: {snapshot: async () => snapshot}, quiet: true, onStderr: relayStderr};
	const given = new Set<string>();
	for (const selector of selectors) for (const {name} of await expandSelector(selector, snapshot)) given.add(name);
	return [...given].map(each => new ConnectingMachine(each, options, cwd));
}

/** A command may have commas in it; it has an option of its own. */
async function expandSelector(selector: string, snapshot: EnvironmentSnapshot): Promise<SelectedMachine[]> {
	if (findScheme(selector)?.startsServer) return [{name: selector}];
	const machines: SelectedMachine[] = [];
	for (const term of splitSelector(selector)) {
		const target = findScheme(term) && (await resolveTarget(term, {pools: {waitMs: undefined}}));
		machines.push(...(target ? await selectByAddress(term, target) : await selectMembers(term, snapshot)));
	}
	return machines;
}

/** A machine that is connected to for one command. */
class ConnectingMachine implements Machine {
	readonly id: string;
	readonly #given: string;
	readonly #options: OpenOptions;
	readonly #cwd: string | undefined;

	constructor(given: string, options: OpenOptions, cwd: string | undefined) {
		this.id = nameMachine(given);
		this.#given = given;
		this.#options = options;
		this.#cwd = cwd;
	}

	run(argv: readonly string[], options?: RunOptions): Promise<RunResult> {
		return this.#connected(async environment => environment.run(argv, await this.#withDirectory(environment, options)));
	}

	shell(line: string, options?: RunOptions): Promise<RunResult> {
		return this.#connected(async environment =>
			environment.shell(line, await this.#withDirectory(environment, options)),
		);
	}

	async #connected<T>(work: (environment: Environment) => Promise<T>): Promise<T> {
		const environment = await openEnvironment(this.#given, this.#options);
		return withEnvironment(environment, () => work(environment));
	}

	async #withDirectory(environment: Environment, options: RunOptions = {}): Promise<RunOptions> {
		if (this.#cwd === undefined) return options;
		return {...options, cwd: resolveDirectory(await readEnvironmentFacts(environment), this.#cwd, '--cwd')};
	}
}

/** An address may hold a password; a name does not. */
function nameMachine(given: string): string {
	const target = parseTarget(given);
	if (!target) return given;
	const {members, text} = describeTarget(target);
	return typeof members['url'] === 'string' ? members['url'] : text;
}
