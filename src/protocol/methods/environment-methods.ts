import * as v from 'valibot';
import {empty, optionalField, pathUri, unit} from '../wire/fields.js';
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

const upgradeParams = v.object({
	/** Path of the program to become; by default the one the server was started from, as it is now. */
	to: optionalField(v.string()),
});

const daemonParams = v.object({
	/** Starts the daemon if it does not run. */
	start: v.nullish(v.boolean(), false),
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
	'environment/daemon': clientRequest({
		family: 'handshake',
		since: 'longarm',
		capability: 'localDaemon',
		params: daemonParams,
		result: v.object({running: v.boolean()}),
		summary:
			'The first request of a connection to a server that exits with its client: connects it to the daemon of the user of the server, where processes outlive the client. If one runs, it gets every later message, the handshake included.',
	}),
	'environment/upgrade': clientRequest({
		family: 'environment upgrade',
		since: 'longarm',
		capability: 'serverUpgrade',
		params: upgradeParams,
		result: empty,
		summary:
			'Replaces the server by another version; its processes run on. Answered only if it goes on as before; otherwise the connection ends and the session can be resumed. Over a unix socket only.',
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
