import {DEFAULT_ENV} from '../../agent-tools/exec-variables.js';
import {UnifiedExec} from '../../agent-tools/unified-exec.js';
import type {AttemptOutcome, ItemAttempt, ItemWorker} from '../../jobs/item-worker.js';
import {type OptionTable, readOptions} from '../../shared/call-options.js';
import {AgentThread, describeTurnFailure, type ModelOptions, type TurnEnd} from '../turn/agent-thread.js';
import {createExecTools} from '../turn/agent-tool.js';
import type {TurnNotification} from '../turn/turn-notifications.js';
import {execEnvironmentAt} from './exec-environment-at.js';
import {createReportTool} from './report-tool.js';
import {createWorkerPrompt, REPORT_REMINDER, WORKER_INSTRUCTIONS} from './worker-prompt.js';

export const UNREPORTED = 'worker finished without calling report_agent_job_result';

/** Options of an `AgentWorker`. */
export interface AgentWorkerOptions extends ModelOptions {
	/** Instruction for the item of a row. */
	readonly renderInstruction: (attempt: ItemAttempt) => string;
	/** Shown to the worker; the job enforces it. */
	readonly schema?: Readonly<Record<string, unknown>> | undefined;
	/** Goes on after an accepted report until the model stops by itself: one more request per item. */
	readonly finishTurn?: boolean | undefined;
	/** Reminds a model once that stops without a report. */
	readonly remind?: boolean | undefined;
	/** Names of variables that commands do not inherit, wherever they run: that of the key of the model. */
	readonly withheldVariables?: readonly string[] | undefined;
	readonly onNotification?: ((notification: TurnNotification) => void) | undefined;
}

/** Every option of a worker, and its form. */
const WORKER_OPTIONS: OptionTable<AgentWorkerOptions> = {
	client: 'object',
	model: 'text',
	reasoningEffort: 'text',
	maxTurns: 'count',
	renderInstruction: 'function',
	schema: 'object',
	finishTurn: 'flag',
	remind: 'flag',
	withheldVariables: 'list',
	onNotification: 'function',
};

/** Works on items with a small agent each: its model loop runs here, its commands on the executor of the item. */
export class AgentWorker implements ItemWorker {
	readonly #options: AgentWorkerOptions;

	constructor(options: AgentWorkerOptions) {
		this.#options = readOptions<AgentWorkerOptions>(options, WORKER_OPTIONS, 'AgentWorker');
	}

	async run(attempt: ItemAttempt): Promise<AttemptOutcome> {
		const {schema, remind = false, renderInstruction, withheldVariables = [], ...rest} = this.#options;
		const {jobId, itemId, row, executor, signal} = attempt;
		await using exec = new UnifiedExec({
			environment: execEnvironmentAt(executor.environment, executor.cwd),
			env: {...DEFAULT_ENV, ...itemVariables(attempt)},
			envPolicy: {exclude: [...withheldVariables]},
		});
		const thread = new AgentThread({
			...rest,
			instructions: WORKER_INSTRUCTIONS,
			tools: [...createExecTools(exec), createReportTool(attempt)],
			subagent: `agent_job:${jobId}`,
			...(remind && {reminder: REPORT_REMINDER}),
		});
		const prompt = createWorkerPrompt({jobId, itemId, row, schema, instruction: renderInstruction(attempt)});
		return await toOutcome(await thread.runTurn(prompt, signal), attempt);
	}
}

async function toOutcome(end: TurnEnd, {executor}: ItemAttempt): Promise<AttemptOutcome> {
	switch (end.kind) {
		case 'done':
			return {kind: 'reported'};
		case 'failed':
		case 'max-turns':
			return {kind: 'failed', reason: 'model', error: describeTurnFailure(end)!};
		case 'no-calls': {
			const {kind} = await executor.environment.status();
			if (kind !== 'disconnected') return {kind: 'unreported', error: UNREPORTED};
			return {kind: 'failed', reason: 'lost', error: `executor ${executor.name} is disconnected`};
		}
		case 'interrupted':
			return {kind: 'unreported', error: UNREPORTED};
	}
}

/** Facts about the item for its commands; the token stays here, since the report is a call of the model. */
function itemVariables({jobId, itemId, rowIndex, attempt}: ItemAttempt): Record<string, string> {
	return {
		LONGARM_JOB_ID: jobId,
		LONGARM_ITEM_ID: itemId,
		LONGARM_ROW_INDEX: String(rowIndex),
		LONGARM_ATTEMPT: String(attempt),
	};
}
