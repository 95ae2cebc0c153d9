import type {OptionDefinition} from '../../command-definition.js';

/** Options of every command that asks a model. */
export const MODEL_OPTIONS: readonly OptionDefinition[] = [
	{flags: '--base-url <URL>', help: 'Responses API of the model: requests go to URL/responses'},
	{flags: '--api-key-env <NAME>', help: 'variable of this shell that holds the key; no command inherits it'},
	{flags: '--model <NAME>', help: 'the model'},
	{
		flags: '--reasoning-effort <EFFORT>',
		help: "none, minimal, low, medium, high or xhigh (default: the model's own)",
		completes: {kind: 'words', words: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']},
	},
	{flags: '--max-turns <N>', help: 'responses of the model before an agent is given up (default: 100)'},
];

/** Options of the workers of a job. */
export const AGENT_WORKER_OPTIONS: readonly OptionDefinition[] = [
	{
		flags: '--finish-turn',
		help: 'let a worker go on after its report until it stops by itself: one more request per row',
	},
	{flags: '--remind', help: 'remind a worker once that stops without a report'},
];
