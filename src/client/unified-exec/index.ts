export {HeadTailBuffer} from '../head-tail-buffer.js';
export type {StructuredAnswer, ToolAnswer} from './answer.js';
export type {ToolArguments} from './arguments.js';
export type {ExecEnvironment} from './environment.js';
export type {
	BeginEvent,
	EndEvent,
	ExecEvent,
	ExecEventListener,
	InteractionEvent,
	OutputDeltaEvent,
} from './exec-events.js';
export type {CallContext, UnifiedExecOptions} from './options.js';
export type {OutputPolicy} from './output-policy.js';
export type {SessionSummary} from './session.js';
export type {JsonSchema, ToolSpec} from './tool-specs.js';
export {UnifiedExec} from './unified-exec.js';
export {DEFAULT_ENV} from './variables.js';
