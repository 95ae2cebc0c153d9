import {ModelEndpoint} from '../../src/agent-loop/model/model-endpoint.js';
import {ResponsesClient} from '../../src/agent-loop/model/responses-client.js';
import type {TurnNotification} from '../../src/agent-loop/turn/turn-notifications.js';
import {AgentWorker, type AgentWorkerOptions} from '../../src/agent-loop/worker/agent-worker.js';
import {Environment} from '../../src/environments/environment.js';
import type {ItemAttempt, ReportAnswer, ReportOptions} from '../../src/jobs/item-worker.js';
import {closeWithTest} from '../helpers/transports.js';

/** A report that a worker has made. */
export interface MadeReport {
	readonly result: unknown;
	readonly options: ReportOptions | undefined;
}

export interface FakeAttempt extends ItemAttempt {
	readonly reports: MadeReport[];
}

/** An attempt whose first report of an object is accepted, on this machine unless another environment is given. */
export function attemptOf(changes: Partial<ItemAttempt> = {}): FakeAttempt {
	const reports: MadeReport[] = [];
	let isAccepted = false;
	return {
		jobId: 'job-1',
		itemId: 'row-1',
		rowIndex: 0,
		row: {name: 'cat_1'},
		attempt: 1,
		token: 'token of the attempt',
		executor: {name: 'here', environment: localEnvironment(), slots: 1},
		signal: new AbortController().signal,
		async report(result, options): Promise<ReportAnswer> {
			reports.push({result, options});
			if (isAccepted) return {accepted: false, reason: 'not_running'};
			isAccepted = true;
			return {accepted: true};
		},
		reports,
		...changes,
	};
}

export function localEnvironment(variables?: Record<string, string | undefined>): Environment {
	return closeWithTest(Environment.local('here', variables));
}

export interface TestWorker {
	readonly worker: AgentWorker;
	readonly notifications: TurnNotification[];
}

/** A worker that asks the model at this address, and retries without long pauses. */
export function workerFor(baseUrl: string, options: Partial<AgentWorkerOptions> = {}): TestWorker {
	const notifications: TurnNotification[] = [];
	const client = new ResponsesClient(new ModelEndpoint(baseUrl, 'key of the model'), {baseDelayMs: 1});
	const worker = new AgentWorker({
		client,
		model: 'gpt-5',
		renderInstruction: ({row}) => `Look at ${String(row['name'])}.`,
		onNotification: notification => notifications.push(notification),
		...options,
	});
	return {worker, notifications};
}
