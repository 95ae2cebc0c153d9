import {type CommandSpec} from '../../../jobs/command/command-spec.js';
import type {ItemWorker} from '../../../jobs/item-worker.js';
import type {DirectoryStore} from '../../../jobs/store/directory-store.js';
import type {ModelSpec} from '../../common/model/read-model.js';
import type {JobReporter} from './job-progress.js';

/** An agent for every row. */
export interface AgentSpec extends ModelSpec {
	readonly kind: 'agent';
	readonly instruction: string;
	readonly finishTurn: boolean;
	readonly remind: boolean;
}

/** A worker, and the end of what it has on its executors. */
export interface OpenedWorker {
	readonly worker: ItemWorker;
	dispose(): Promise<void>;
}

/** The worker for a job that was stored. */
export async function openWorker(
	store: DirectoryStore,
	reporter: JobReporter,
	reportUrl: string | undefined,
): Promise<OpenedWorker> {
	const spec = store.job.work as CommandSpec | AgentSpec;
	return spec.kind === 'agent' ? openAgents(store, spec) : openCommands(store, spec, reporter, reportUrl);
}

async function openCommands(
	store: DirectoryStore,
	spec: CommandSpec,
	reporter: JobReporter,
	reportUrl: string | undefined,
): Promise<OpenedWorker> {
	const {CommandWorker} = await import('../../../jobs/command/command-worker.js');
	const worker = new CommandWorker({
		job: store.job,
		spec,
		directory: store.directory,
		reportUrl,
		...(reporter.wantsOutput && {
			onOutput: ({itemId, rowIndex}, stream, text) =>
				reporter.tell({type: 'item.output', item_id: itemId, row_index: rowIndex, stream, text}),
		}),
	});
	return {worker, dispose: () => worker.dispose()};
}

async function openAgents({job}: DirectoryStore, spec: AgentSpec): Promise<OpenedWorker> {
	const [{AgentWorker}, {openModel}, {Template}] = await Promise.all([
		import('../../../agent-loop/worker/agent-worker.js'),
		import('../../common/model/read-model.js'),
		import('../../../jobs/input/template.js'),
	]);
	const {model, withheldVariables} = await openModel(spec);
	const template = new Template(spec.instruction, {columns: job.headers, unknown: 'keep'});
	const worker = new AgentWorker({
		...model,
		withheldVariables,
		finishTurn: spec.finishTurn,
		remind: spec.remind,
		...(typeof job.rules.schema === 'object' && {schema: job.rules.schema as Readonly<Record<string, unknown>>}),
		renderInstruction: attempt => template.render(attempt),
	});
	return {worker, dispose: async () => {}};
}
