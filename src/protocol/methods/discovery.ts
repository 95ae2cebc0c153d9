import * as v from 'valibot';
import {optionalField, pathUri} from '../wire/fields.js';
import {sandboxContext} from './sandbox-params.js';

const uriText = v.pipe(v.string(), v.title('PathUri'));
const textFile = v.object({path: uriText, contents: v.string()});
const pluginFiles = v.object({
	manifest: textFile,
	mcpConfig: v.nullable(textFile),
	appsConfig: v.nullable(textFile),
});

export const discoverV1Params = v.object({
	roots: v.array(v.object({id: v.string(), path: pathUri, sandbox: optionalField(sandboxContext)})),
});
export const discoverV1Result = v.object({
	roots: v.array(
		v.object({
			id: v.string(),
			path: uriText,
			plugin: v.nullable(pluginFiles),
			skills: v.array(v.object({instructions: textFile, metadata: v.nullable(textFile)})),
			namespaceManifests: v.array(textFile),
			warnings: v.array(v.string()),
			error: v.nullable(v.string()),
		}),
	),
});

const skill = v.object({
	name: v.string(),
	description: v.string(),
	shortDescription: v.nullable(v.string()),
	path: uriText,
	discoveryRoot: v.object({id: v.string(), path: uriText}),
	dependencies: v.unknown(),
	policy: v.unknown(),
});

export const discoverV2Params = v.object({cwd: pathUri, sandbox: optionalField(sandboxContext)});
export const discoverV2Result = v.object({
	plugins: v.array(
		v.object({
			id: v.string(),
			displayName: v.string(),
			remotePluginId: v.nullable(v.string()),
			version: v.string(),
			root: uriText,
			files: pluginFiles,
			skills: v.array(skill),
		}),
	),
	skills: v.array(skill),
	warnings: v.array(v.string()),
});
