export {HeadTailBuffer} from '../shared/head-tail-buffer.js';
export type {ExecEnvironment} from './exec-environment.js';
export type {
	BeginEvent,
	EndEvent,
	ExecEvent,
	ExecEventListener,
	InteractionEvent,
	OutputDeltaEvent,
} from './exec-events.js';
export type {CallContext, UnifiedExecOptions} from './exec-options.js';
export type {SessionSummary} from './exec-session.js';
export {DEFAULT_ENV} from './exec-variables.js';
export type {OutputPolicy} from './output-policy.js';
export type {StructuredAnswer, ToolAnswer} from './tool-answer.js';
export type {ToolArguments} from './tool-arguments.js';
export type {JsonSchema, ToolSpec} from './tool-specs.js';
export {UnifiedExec} from './unified-exec.js';
