export {type CommandSpec, RESULT_MODES, type ResultMode} from './command/command-spec.js';
export {CommandWorker, type CommandWorkerOptions} from './command/command-worker.js';
export {ReportServer} from './command/report-server.js';
export type {ReportCall} from './engine/acceptance.js';
export type {JobEvent, JobProgress} from './engine/job-events.js';
export {JobRunner, type JobRunnerOptions} from './engine/job-runner.js';
export {compileSchema, type ResultCheck} from './engine/result-schema.js';
export {JobInputError} from './input/job-input-error.js';
export {Template, type TemplateOptions, type TemplateValues} from './input/template.js';
export type {
	AttemptOutcome,
	ItemAttempt,
	ItemRow,
	ItemWorker,
	JobExecutor,
	RejectReason,
	ReportAnswer,
	ReportOptions,
} from './item-worker.js';
export {
	DEFAULT_RULES,
	type DescribedExecutor,
	type FailureKind,
	type JobDescription,
	type JobRules,
	type Placement,
} from './job-description.js';
export {type ExportOptions, exportJob} from './output/export-job.js';
export {type JobSummary, type NamedFailure, summarizeJob} from './output/job-summary.js';
export {type CreateJobOptions, createJob, type RunJobOptions, runJob} from './run-job.js';
export {DirectoryStore, type NewJob} from './store/directory-store.js';
export type {ItemCounts, ItemStatus, ItemTable} from './store/item-table.js';
export {defaultJobsDirectory, findJobId, listJobIds} from './store/job-directory.js';
export type {FinalStatus, JobRecord, JobStatus, RequeueKind} from './store/job-records.js';
export type {JobStore, StoredItem} from './store/job-store.js';
