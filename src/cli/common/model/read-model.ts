import {EndpointUrlError, ModelEndpoint} from '../../../agent-loop/model/model-endpoint.js';
import {REASONING_EFFORTS, type ReasoningEffort} from '../../../agent-loop/model/request-body.js';
import {ResponsesClient} from '../../../agent-loop/model/responses-client.js';
import type {ModelOptions} from '../../../agent-loop/turn/agent-thread.js';
import type {OptionValues} from '../../command-definition.js';
import {usageError} from '../../exit-codes.js';
import {writeMessage} from '../messages.js';
import {parseWholeNumber} from '../processes/option-values.js';

const MAX_TURNS = 1_000_000;
/** Characters that a header can carry. */
const KEY_FORM = /^[\x21-\x7e]+$/;

/** A model as a command line or a stored job describes it; the key is only named. */
export interface ModelSpec {
	readonly baseUrl: string;
	readonly model: string;
	/** Variable with the key; none is sent without it. */
	readonly apiKeyEnv?: string | undefined;
	readonly maxTurns?: number | undefined;
	readonly reasoningEffort?: string | undefined;
}

/** A model that can be asked. */
export interface OpenedModel {
	readonly model: ModelOptions;
	/** Names of variables with the key, for commands on other machines. */
	readonly withheldVariables: readonly string[];
}

/** Reads the options of a model. */
export function readModelSpec(options: OptionValues): ModelSpec {
	return {
		baseUrl: requireOption(options, 'baseUrl', '--base-url'),
		apiKeyEnv: requireOption(options, 'apiKeyEnv', '--api-key-env'),
		model: requireOption(options, 'model', '--model'),
		reasoningEffort: options['reasoningEffort'] as string | undefined,
		maxTurns: readMaxTurns(options['maxTurns'] as string | undefined),
	};
}

/** Throws a usage error if there is no such key, or the address or the effort cannot be used. */
export function checkModel({baseUrl, apiKeyEnv, reasoningEffort}: ModelSpec): void {
	readEffort(reasoningEffort);
	createEndpoint(baseUrl, readKey(apiKeyEnv));
}

/**
 * Opens a model and takes its key out of the environment of this process, also where other programs of the same user
 * could read it. Call it once, and before anything is started.
 */
export async function openModel({baseUrl, model, apiKeyEnv, maxTurns, ...rest}: ModelSpec): Promise<OpenedModel> {
	const reasoningEffort = readEffort(rest.reasoningEffort);
	const apiKey = readKey(apiKeyEnv);
	const endpoint = createEndpoint(baseUrl, apiKey);
	const withheldVariables = apiKey === undefined ? [] : await withholdKey(apiKey);
	if (endpoint.isExposed) writeMessage('warning: the key crosses the network unencrypted; use an https:// base URL');
	return {model: {client: new ResponsesClient(endpoint), model, reasoningEffort, maxTurns}, withheldVariables};
}

function requireOption(options: OptionValues, key: string, flag: string): string {
	const value = options[key];
	if (typeof value !== 'string' || value === '') throw usageError(`${flag} is missing`);
	return value;
}

function readEffort(text: string | undefined): ReasoningEffort | undefined {
	const effort = REASONING_EFFORTS.find(each => each === text);
	if (text === undefined || effort) return effort;
	throw usageError(`--reasoning-effort ${text}: expected one of ${REASONING_EFFORTS.join(', ')}`);
}

function readMaxTurns(text: string | undefined): number | undefined {
	if (text === undefined) return undefined;
	const turns = parseWholeNumber('--max-turns', text, MAX_TURNS);
	if (turns === 0) throw usageError('--max-turns 0: expected at least 1');
	return turns;
}

/** No error repeats the given text: it may be the key itself. */
function readKey(name: string | undefined): string | undefined {
	if (name === undefined) return undefined;
	const key = process.env[name]?.trim();
	if (key === undefined || key === '') {
		throw usageError('the variable that --api-key-env names is not set; give the name of a variable, not the key');
	}
	if (!KEY_FORM.test(key)) throw usageError('the variable that --api-key-env names holds characters that no key has');
	return key;
}

function createEndpoint(baseUrl: string, apiKey: string | undefined): ModelEndpoint {
	try {
		return new ModelEndpoint(baseUrl, apiKey);
	} catch (error) {
		if (error instanceof EndpointUrlError) throw usageError(`--base-url: ${error.message}`);
		throw error;
	}
}

/** Removes the variables with the key, under whatever names; returns their names. */
async function withholdKey(apiKey: string): Promise<string[]> {
	const names = Object.keys(process.env).filter(name => process.env[name]?.trim() === apiKey);
	if (process.platform === 'linux') {
		const {hideProcess} = await import('../../../processes/backends/linux/hide-process.js');
		hideProcess(names);
	}
	for (const name of names) delete process.env[name];
	return names;
}
