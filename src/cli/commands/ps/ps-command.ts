import {isatty} from 'node:tty';
import type {Environment} from '../../../environments/environment.js';
import {abortable, waitAtMost} from '../../../shared/async/timeout.js';
import {errorMessage} from '../../../shared/errors.js';
import {openEnvironment} from '../../common/environments.js';
import {hintOf} from '../../common/hint-of.js';
import {InterruptedError, Interruption} from '../../common/interruption.js';
import {writeJson, writeLines, writeMessage} from '../../common/messages.js';
import {parseLabels} from '../../common/processes/label-option.js';
import {withEnvironment} from '../../common/processes/open-process.js';
import {EXIT, usageError} from '../../exit-codes.js';
import {formatProcesses, type ProcessRow, toProcessObject} from './listed-lines.js';

export interface PsOptions {
	readonly environments: readonly string[];
	readonly quiet: boolean;
	readonly all: boolean;
	/** `KEY=value`. */
	readonly labels: readonly string[];
	readonly json: boolean;
	readonly watch: boolean;
}

const STDOUT = 1;
/** Pause between two looks. */
const WATCH_INTERVAL_MS = 1000;

/** Lists processes of one or several environments. */
export async function ps(options: PsOptions): Promise<number> {
	const {environments: names, quiet, labels, json, watch} = options;
	if (watch && json) throw usageError('--watch and --json exclude each other');
	if (watch && !isatty(STDOUT)) throw usageError('--watch needs a terminal to draw on');
	const listing = {all: true, includeEnded: options.all, labels: parseLabels(labels)};
	// A name that is not known is a mistake of the caller, not of the environment.
	const environments =
		names.length === 0
			? [await openEnvironment(undefined, {quiet})]
			: await Promise.all([...new Set(names)].map(name => openEnvironment(name, {quiet})));
	const lister = new Lister(environments, listing);
	return withEnvironments(environments, () => (watch ? watchList(lister) : printList(lister, json)));
}

function withEnvironments(environments: readonly Environment[], work: () => Promise<number>): Promise<number> {
	return environments.reduce<() => Promise<number>>(
		(inner, environment) => () => withEnvironment(environment, inner),
		work,
	)();
}

type Listing = Parameters<Environment['processes']['list']>[0];

interface Listed {
	readonly rows: readonly ProcessRow[];
	/** Lines about environments that could not be asked. */
	readonly failures: readonly string[];
}

class Lister {
	readonly hasEnvironments: boolean;
	readonly #environments: readonly Environment[];
	readonly #listing: Listing;

	constructor(environments: readonly Environment[], listing: Listing) {
		this.#environments = environments;
		this.#listing = listing;
		this.hasEnvironments = environments.length > 1;
	}

	/** Asks all at once. */
	async list(): Promise<Listed> {
		const answers = await Promise.all(this.#environments.map(environment => this.#ask(environment)));
		return {rows: answers.flatMap(({rows}) => rows), failures: answers.flatMap(({failures}) => failures)};
	}

	async #ask(environment: Environment): Promise<Listed> {
		const {id} = environment;
		try {
			const processes = await environment.processes.list(this.#listing);
			const sorted = [...processes].sort((one, other) => one.startedAtMs - other.startedAtMs);
			return {rows: sorted.map(process => ({environment: id, process})), failures: []};
		} catch (error) {
			const hint = hintOf(error);
			const line = `error: ${this.hasEnvironments ? `${id}: ` : ''}${errorMessage(error)}`;
			return {rows: [], failures: hint === undefined ? [line] : [line, `hint: ${hint}`]};
		}
	}
}

async function printList(lister: Lister, json: boolean): Promise<number> {
	const {hasEnvironments} = lister;
	const {rows, failures} = await lister.list();
	writeMessage(...failures);
	const isFailed = failures.length > 0;
	if (json) {
		writeJson(
			rows.map(row => toProcessObject(row, hasEnvironments)),
			'\t',
		);
	} else if (rows.length > 0 || !isFailed) {
		const width = isatty(STDOUT) ? process.stdout.columns : undefined;
		writeLines(formatProcesses(rows, {hasEnvironments, width}));
	}
	return isFailed ? EXIT.failed : EXIT.ok;
}

/** Draws the list until Ctrl-C. */
async function watchList(lister: Lister): Promise<number> {
	const {WatchScreen} = await import('./watch-screen.js');
	using interruption = new Interruption();
	using screen = new WatchScreen();
	const {signal} = interruption;
	try {
		for (;;) {
			const {rows, failures} = await abortable(lister.list(), signal);
			screen.draw([...formatProcesses(rows, {hasEnvironments: lister.hasEnvironments}), ...failures]);
			await waitAtMost(new Promise(() => {}), WATCH_INTERVAL_MS, signal);
		}
	} catch (error) {
		if (error instanceof InterruptedError) return error.exitCode;
		throw error;
	}
}
