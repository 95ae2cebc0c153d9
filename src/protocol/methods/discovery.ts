import * as v from 'valibot';
import {optionalField, pathUri} from '../wire/fields.js';
import {type Capabilities, clientRequest} from './declare-method.js';
import {sandboxContext} from './sandbox-params.js';

const uriText = v.pipe(v.string(), v.title('PathUri'));
const textFile = v.object({path: uriText, contents: v.string()});
const pluginFiles = v.object({
	manifest: textFile,
	mcpConfig: v.nullable(textFile),
	appsConfig: v.nullable(textFile),
});

const discoverV1Params = v.object({
	roots: v.array(v.object({id: v.string(), path: pathUri, sandbox: optionalField(sandboxContext)})),
});
const discoverV1Result = v.object({
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

const pluginSkill = v.object({
	name: v.string(),
	description: v.string(),
	shortDescription: v.nullable(v.string()),
	path: uriText,
	dependencies: v.unknown(),
	policy: v.unknown(),
});
const skill = v.object({...pluginSkill.entries, discoveryRoot: v.object({id: v.string(), path: uriText})});

const discoverV2Params = v.object({cwd: pathUri, sandbox: optionalField(sandboxContext)});
const discoverV2Result = v.object({
	plugins: v.array(
		v.object({
			id: v.string(),
			displayName: v.string(),
			remotePluginId: v.nullable(v.string()),
			version: v.string(),
			root: uriText,
			files: pluginFiles,
			skills: v.array(pluginSkill),
		}),
	),
	skills: v.array(skill),
	warnings: v.array(v.string()),
});

export const DISCOVERY_CAPABILITIES: Capabilities = {capabilityDiscoverySandbox: false};

/** Plugins and skills. */
export const DISCOVERY_METHODS = {
	'capabilityRoots/discoverV1': clientRequest({
		family: 'capability discovery',
		since: '2026-07',
		unserved: true,
		params: discoverV1Params,
		result: discoverV1Result,
		summary: 'Plugins and skills below the given directories.',
	}),
	'capabilities/discoverV2': clientRequest({
		family: 'capability discovery',
		since: '0.166',
		capability: 'capabilityDiscoveryV2',
		params: discoverV2Params,
		result: discoverV2Result,
		summary: "Plugins and skills installed for the executor's user.",
	}),
} as const;
