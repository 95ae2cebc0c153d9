import type {RunOptions, RunResult} from '../../../client/run/run.js';
import {defaultProvider} from '../../../environments/config/default-provider.js';
import type {Environment} from '../../../environments/environment.js';
import {environmentIds, LOCAL, readSnapshot} from '../../../environments/environment-provider.js';
import type {Machine} from '../../../environments/many/run-on-each.js';
import {type SelectableEnvironments, selectEnvironments, splitSelector} from '../../../environments/many/selector.js';
import {findScheme} from '../../../transports/node/registry.js';
import {type OpenOptions, openEnvironment} from '../../common/environments.js';
import {relayStderr} from '../../common/messages.js';
import {withEnvironment} from '../../common/processes/open-process.js';
import {describeTarget, parseTarget} from '../../common/resolve-target.js';
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
	const names = [...new Set([LOCAL, ...environmentIds(snapshot)])];
	const options: OpenOptions = {provider: {snapshot: async () => snapshot}, quiet: true, onStderr: relayStderr};
	const known = {names, labels: snapshot.labels ?? new Map()};
	const given = new Set(selectors.flatMap(selector => expandSelector(selector, known)));
	return [...given].map(each => new ConnectingMachine(each, options, cwd));
}

/** A command may have commas in it; it has an option of its own. */
function expandSelector(selector: string, known: SelectableEnvironments): string[] {
	if (findScheme(selector)?.startsServer) return [selector];
	return splitSelector(selector).flatMap(term => (findScheme(term) ? [term] : selectEnvironments(term, known)));
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
