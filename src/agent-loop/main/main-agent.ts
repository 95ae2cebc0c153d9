import {UnifiedExec} from '../../agent-tools/unified-exec.js';
import type {Environment} from '../../environments/environment.js';
import {waitAtMost} from '../../shared/async/timeout.js';
import {AgentThread, type ModelOptions, type TurnEnd} from '../turn/agent-thread.js';
import {createExecTools} from '../turn/agent-tool.js';
import type {TurnNotification} from '../turn/turn-notifications.js';
import {execEnvironmentAt} from '../worker/exec-environment-at.js';
import {createSpawnTool, type RunCsvJob} from './spawn-tool.js';

/** Longest wait for commands and jobs when the agent is closed. */
export const MAX_SHUTDOWN_WAIT_MS = 2_000;

const MAIN_INSTRUCTIONS =
	'You are an agent that works on one machine, without a person to ask. exec_command runs shell commands there; ' +
	'write_stdin talks to commands that are still running. spawn_agents_on_csv gives each row of a CSV file to a worker ' +
	'agent of its own and waits for all of them: use it for the same task on many inputs. ' +
	'When the work is done, answer with a short summary and no further calls.';

export interface MainAgentOptions extends ModelOptions {
	/** Where its commands run. */
	readonly environment: Environment;
	readonly cwd?: string | undefined;
	/** Workers of a job at a time. */
	readonly maxWorkers?: number | undefined;
	readonly runJob: RunCsvJob;
	/** Names of variables that commands do not inherit: that of the key of the model. */
	readonly withheldVariables?: readonly string[] | undefined;
	readonly onNotification?: ((notification: TurnNotification) => void) | undefined;
}

/** An agent with commands on one machine, and workers on any number of them. */
export class MainAgent implements AsyncDisposable {
	readonly #thread: AgentThread;
	readonly #exec: UnifiedExec;
	/** Jobs that are not over; one that is cancelled takes a moment to end. */
	readonly #jobs = new Set<Promise<unknown>>();

	constructor(options: MainAgentOptions) {
		const {environment, cwd, maxWorkers, runJob, withheldVariables = [], ...rest} = options;
		this.#exec = new UnifiedExec({
			environment: execEnvironmentAt(environment, cwd),
			envPolicy: {exclude: [...withheldVariables]},
		});
		const spawn = createSpawnTool((request, signal) => this.#track(runJob(request, signal)), maxWorkers);
		this.#thread = new AgentThread({
			...rest,
			instructions: MAIN_INSTRUCTIONS,
			tools: [...createExecTools(this.#exec), spawn],
		});
	}

	get threadId(): string {
		return this.#thread.id;
	}

	/** Works on the task; never rejects. The last notification of its thread is the completion of this turn. */
	runTurn(prompt: string, signal: AbortSignal, turnId: string): Promise<TurnEnd> {
		return this.#thread.runTurn(prompt, signal, turnId);
	}

	/** Ends its commands and waits for its jobs, two seconds at most. */
	async close(): Promise<void> {
		await waitAtMost(Promise.allSettled([this.#exec.close(), ...this.#jobs]), MAX_SHUTDOWN_WAIT_MS);
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}

	async #track<T>(job: Promise<T>): Promise<T> {
		this.#jobs.add(job);
		try {
			return await job;
		} finally {
			this.#jobs.delete(job);
		}
	}
}
