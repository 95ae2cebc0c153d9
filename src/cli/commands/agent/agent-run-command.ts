import {randomUUID} from 'node:crypto';
import {text} from 'node:stream/consumers';
import {runCsvJob} from '../../../agent-loop/main/csv-jobs.js';
import {MAX_SHUTDOWN_WAIT_MS, MainAgent} from '../../../agent-loop/main/main-agent.js';
import {MAX_WORKERS} from '../../../agent-loop/main/spawn-arguments.js';
import {
	decodeTurnCompleted,
	type TurnCompletion,
	type TurnNotification,
} from '../../../agent-loop/turn/turn-notifications.js';
import type {Environment} from '../../../environments/environment.js';
import type {JobExecutor} from '../../../jobs/item-worker.js';
import type {DescribedExecutor} from '../../../jobs/job-description.js';
import {Deferred} from '../../../shared/async/deferred.js';
import {waitAtMost} from '../../../shared/async/timeout.js';
import type {OptionValues} from '../../command-definition.js';
import {openEnvironment} from '../../common/environments.js';
import {InterruptedError, Interruption} from '../../common/interruption.js';
import {writeMessage} from '../../common/messages.js';
import {type ModelSpec, type OpenedModel, openModel, readModelSpec} from '../../common/model/read-model.js';
import {parseWholeNumber} from '../../common/processes/option-values.js';
import {EXIT, usageError} from '../../exit-codes.js';
import {describeExecutors, openExecutors} from '../fanout/job-executors.js';
import type {AgentSpec} from '../fanout/job-worker.js';
import {type AgentReport, JsonAgentReport, TextAgentReport} from './agent-report.js';

/** Runs an agent to the end of its turn; settles with the exit code. */
export async function runAgent(task: string, options: OptionValues): Promise<number> {
	const maxWorkers = readMaxWorkers(options['maxWorkers'] as string | undefined);
	const spec = readModelSpec(options);
	const given = (options['executor'] ?? []) as readonly string[];
	const chosen = given.length === 0 ? undefined : await describeExecutors(given, maxWorkers);
	const model = await openModel(spec);
	const prompt = await readPrompt(task);
	const quiet = options['quiet'] === true;
	const environment = await openEnvironment(options['environment'] as string | undefined, {
		quiet,
		pools: {waitMs: undefined},
	});
	const name = toExecutorName(environment);
	const described = chosen ?? [{name, where: name, slots: maxWorkers}];
	const executors = chosen ? await openExecutors(chosen) : [{name, environment, slots: maxWorkers}];
	const report = options['json'] === true ? new JsonAgentReport() : new TextAgentReport();
	using interruption = new Interruption();
	const turn = new MainTurn({spec, model, environment, executors, described, maxWorkers, options, report});
	const completion = await turn.run(prompt, interruption.signal);
	await turn.close();
	return toExitCode(completion, interruption.signal.reason);
}

interface MainTurnOptions {
	readonly spec: ModelSpec;
	readonly model: OpenedModel;
	readonly environment: Environment;
	readonly executors: readonly JobExecutor[];
	readonly described: readonly DescribedExecutor[];
	readonly maxWorkers: number;
	readonly options: OptionValues;
	readonly report: AgentReport;
}

/** The turn that the command is for. Its typed completion ends it, and no other notification does. */
class MainTurn {
	readonly #agent: MainAgent;
	readonly #turnId = randomUUID();
	readonly #completed = new Deferred<TurnCompletion>();
	readonly #report: AgentReport;
	readonly #environments: ReadonlySet<Environment>;
	#lastMessage: string | undefined;

	constructor(given: MainTurnOptions) {
		const {spec, model, environment, executors, described, maxWorkers, options, report} = given;
		this.#report = report;
		this.#environments = new Set([environment, ...executors.map(each => each.environment)]);
		const {withheldVariables} = model;
		const cwd = options['cwd'] as string | undefined;
		const onNotification = (notification: TurnNotification): void => this.#hear(notification);
		const rules = {finishTurn: options['finishTurn'] === true, remind: options['remind'] === true};
		const jobs = {
			worker: {...model.model, ...rules, withheldVariables, onNotification},
			environment,
			cwd,
			executors,
			described,
			describeWork: (instruction: string): AgentSpec => ({kind: 'agent', instruction, ...spec, ...rules}),
			jobsDirectory: options['jobDir'] as string | undefined,
			onEvent: report.jobEvent.bind(report),
		};
		this.#agent = new MainAgent({
			...model.model,
			environment,
			cwd,
			maxWorkers,
			withheldVariables,
			onNotification,
			runJob: (request, signal) => runCsvJob(jobs, request, signal),
		});
	}

	run(prompt: string, signal: AbortSignal): Promise<TurnCompletion> {
		void this.#agent.runTurn(prompt, signal, this.#turnId);
		return this.#completed.promise;
	}

	/** Ends commands, jobs and connections, as far as that takes no longer than two seconds. */
	async close(): Promise<void> {
		this.#report.end(this.#lastMessage);
		const closing = (async () => {
			await this.#agent.close();
			await Promise.allSettled([...this.#environments].map(each => each.close()));
		})();
		await waitAtMost(closing, MAX_SHUTDOWN_WAIT_MS);
	}

	#hear(notification: TurnNotification): void {
		const isMain = notification.params.threadId === this.#agent.threadId;
		if (isMain && notification.method === 'item/completed' && notification.params.item.type === 'agentMessage') {
			this.#lastMessage = notification.params.item.text;
		}
		this.#report.notification(notification, isMain);
		const completion = decodeTurnCompleted(notification, this.#agent.threadId, this.#turnId);
		if (completion) this.#completed.resolve(completion);
	}
}

function toExitCode(completion: TurnCompletion, reason: unknown): number {
	switch (completion.kind) {
		case 'completed':
			return EXIT.ok;
		case 'failed':
			writeMessage(`error: ${completion.message ?? 'the turn failed'}`);
			return EXIT.failed;
		case 'aborted':
			return reason instanceof InterruptedError ? reason.exitCode : EXIT.interrupted;
	}
}

async function readPrompt(given: string): Promise<string> {
	const prompt = given === '-' ? await text(process.stdin) : given;
	if (prompt.trim() === '') throw usageError('the task is empty');
	return prompt;
}

function readMaxWorkers(given: string | undefined): number {
	if (given === undefined) return MAX_WORKERS;
	const workers = parseWholeNumber('--max-workers', given, MAX_WORKERS);
	if (workers === 0) throw usageError(`--max-workers 0: expected a number from 1 to ${MAX_WORKERS}`);
	return workers;
}

/** An address may hold a password, and the name is written to the journal. */
function toExecutorName({id}: Environment): string {
	return id.replace(/\/\/[^/@]*@/, '//');
}
