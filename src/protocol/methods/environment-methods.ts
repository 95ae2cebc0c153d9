import * as v from 'valibot';
import {pathUri, unit} from '../wire/fields.js';
import {clientRequest} from './declare-method.js';

/** Capabilities a server announces; a missing member means false. There is no other negotiation. */
export const capabilities = v.record(v.string(), v.boolean());

const uriText = v.pipe(v.string(), v.title('PathUri'));

export const environmentInfo = v.object({
	shell: v.object({name: v.string(), path: v.string()}),
	cwd: v.nullish(uriText),
	temporaryDirectories: v.optional(v.array(uriText)),
	tempDir: v.optional(uriText),
	executorVersion: v.optional(v.string()),
	providerId: v.optional(v.string()),
	instanceId: v.optional(v.string()),
	userHomeDir: v.optional(uriText),
	platformOs: v.optional(v.string()),
	prependPathDirs: v.optional(v.array(uriText)),
	capabilities: v.optional(capabilities),
});
/** Description of a machine by its server. */
export type EnvironmentInfo = v.InferOutput<typeof environmentInfo>;

export const environmentStatus = v.object({status: v.string()});

const keyPaths = v.array(v.array(v.string()));

const environmentConfigReadParams = v.object({
	cwd: pathUri,
	configPaths: keyPaths,
	requirementsPaths: keyPaths,
});

const layerStack = v.object({
	layers: v.array(v.object({source: v.string(), baseDir: uriText, toml: v.string()})),
	cloudInsertionIndex: v.number(),
});

const environmentConfigReadResult = v.object({
	userHomeDir: v.nullable(uriText),
	codexHomeDir: uriText,
	hostname: v.nullable(v.string()),
	config: layerStack,
	requirements: layerStack,
});

/** The machine and its configuration. */
export const ENVIRONMENT_METHODS = {
	'environment/info': clientRequest({
		family: 'environment info',
		since: '2026-06',
		params: unit,
		result: environmentInfo,
		summary: 'What the executor is: shell, directories, version, capabilities.',
	}),
	'environment/status': clientRequest({
		family: 'environment status',
		since: '2026-07',
		params: unit,
		result: environmentStatus,
		summary: 'That the executor is there.',
	}),
	'environmentConfig/read': clientRequest({
		family: 'environment config',
		since: '2026-08',
		capability: 'environmentConfigRead',
		params: environmentConfigReadParams,
		result: environmentConfigReadResult,
		summary: "Selected keys of the executor's own configuration files.",
	}),
} as const;
