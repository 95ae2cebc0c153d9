import * as v from 'valibot';
import {pathUri} from '../wire/fields.js';

/** What an executor may announce; a missing member means false, and that is the whole negotiation. */
export const capabilities = v.record(v.string(), v.boolean());

const uriText = v.pipe(v.string(), v.title('PathUri'));

export const environmentInfo = v.object({
	shell: v.object({name: v.string(), path: v.string()}),
	cwd: v.nullish(uriText),
	temporaryDirectories: v.optional(v.array(uriText)),
	tempDir: v.optional(uriText),
	executorVersion: v.optional(v.string()),
	providerId: v.optional(v.string()),
	userHomeDir: v.optional(uriText),
	platformOs: v.optional(v.string()),
	prependPathDirs: v.optional(v.array(uriText)),
	capabilities: v.optional(capabilities),
});
export type EnvironmentInfo = v.InferOutput<typeof environmentInfo>;

export const environmentStatus = v.object({status: v.string()});

const keyPaths = v.array(v.array(v.string()));

export const environmentConfigReadParams = v.object({
	cwd: pathUri,
	configPaths: keyPaths,
	requirementsPaths: keyPaths,
});

const layerStack = v.object({
	layers: v.array(v.object({source: v.string(), baseDir: uriText, toml: v.string()})),
	cloudInsertionIndex: v.number(),
});

export const environmentConfigReadResult = v.object({
	userHomeDir: v.nullable(uriText),
	codexHomeDir: uriText,
	hostname: v.nullable(v.string()),
	config: layerStack,
	requirements: layerStack,
});
