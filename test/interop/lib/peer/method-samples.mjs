// Valid parameters of every known method. They show how a server decodes parameters, and most are sent for their results.
import {pathToFileURL} from 'node:url';

const SANDBOX = {
	permissions: {
		type: 'managed',
		file_system: {
			type: 'restricted',
			entries: [
				{
					path: {type: 'special', value: {kind: 'project_roots', subpath: '.git'}},
					access: 'read',
					missing_path_behavior: 'skip',
				},
			],
			glob_scan_max_depth: 1,
		},
		network: 'restricted',
	},
	cwd: 'file:///',
	workspaceRoots: ['file:///'],
	userHomeDir: 'file:///',
	temporaryDirectories: ['file:///'],
	sandboxOverride: 'noOverride',
	policyContext: {cwd: 'file:///', workspaceRoots: ['file:///']},
	windowsSandboxLevel: 'disabled',
	windowsSandboxProxySettingsMode: 'reconcile',
	useLegacyLandlock: false,
};

const NETWORK_PROXY = {
	proxy: {
		enabled: true,
		enableSocks5: true,
		enableSocks5Udp: true,
		allowUpstreamProxy: true,
		dangerouslyAllowAllUnixSockets: false,
		mode: 'full',
		domains: {'allowed.example': 'allow'},
		unixSockets: null,
		allowLocalBinding: false,
		reviewDomains: ['reviewed.example'],
		credentialMasking: false,
		credentialProviders: {},
	},
	auditMetadata: {conversationId: null},
	environmentId: 'remote',
	executionId: 'execution',
	policyDecisionTimeoutMs: 5000,
};

/** A request through the proxy of its environment, to a host that no rule allows. */
const FORBIDDEN_REQUEST = `
	const {http_proxy, HTTP_PROXY = http_proxy} = process.env;
	const {hostname, port} = new URL(HTTP_PROXY);
	require('http').get({hostname, port, path: 'http://forbidden.example/', headers: {host: 'forbidden.example'}}, r => r.resume());
`;

const sample = (method, params, call = params) => ({method, params, call});

/**
 * Lists `{method, params, call}` for a folder of the server's machine and the URL of an HTTP server. `params` have every
 * known member. `call` has those that are sent for a result, in this order.
 */
export function listSamples(folder, httpUrl) {
	const uri = name => pathToFileURL(`${folder}/${name}`).href;
	const followed = {followSymlinks: true, sandbox: null};
	const start = (processId, argv, more = {}) => ({
		processId,
		argv,
		cwd: uri(''),
		env: {PATH: process.env.PATH},
		tty: false,
		pipeStdin: false,
		...more,
	});
	const request = {
		method: 'POST',
		url: httpUrl,
		headers: [{name: 'x-sample', value: 'yes', valueEnvVar: null}],
		bodyBase64: 'eA==',
		timeoutMs: 10_000,
		redirectPolicy: 'follow',
		requestId: 'request-1',
		streamResponse: false,
	};
	return [
		sample('initialize', {clientName: 'longarm-recorder', resumeSessionId: null}),
		sample('environment/info', null),
		sample('environment/status', null),
		sample('environmentConfig/read', {
			cwd: uri(''),
			configPaths: [['mcp_servers']],
			requirementsPaths: [['mcp_servers']],
		}),
		sample('capabilityRoots/discoverV1', {roots: [{id: 'root', path: uri('plugin'), sandbox: null}]}),
		sample('capabilities/discoverV2', {cwd: uri(''), sandbox: null}),
		sample('fs/createDirectory', {path: uri('made'), recursive: true, ...followed}),
		sample('fs/writeFile', {path: uri('made/file'), dataBase64: 'aGVsbG8=', ...followed}),
		sample('fs/readFile', {path: uri('made/file'), ...followed}),
		sample('fs/getMetadata', {path: uri('made/file'), ...followed}),
		sample('fs/canonicalize', {path: uri('made/file'), sandbox: null}),
		sample('fs/readDirectory', {path: uri('made'), sandbox: null}),
		sample('fs/walk', {
			path: uri(''),
			options: {
				maxDepth: 6,
				maxDirectories: 100,
				maxEntries: 100,
				followDirectorySymlinks: false,
				pruneHiddenDirectories: false,
			},
			sandbox: null,
		}),
		sample('fs/copy', {
			sourcePath: uri('made/file'),
			destinationPath: uri('made/copy'),
			recursive: false,
			sandbox: null,
		}),
		sample('fs/open', {handleId: 'read', path: uri('made/file'), mode: 'read', sandbox: null}),
		sample('fs/readBlock', {handleId: 'read', offset: 0, len: 1024}),
		sample('fs/close', {handleId: 'read'}),
		sample('fs/open', {handleId: 'write', path: uri('made/copy'), mode: 'replace', sandbox: null}),
		sample('fs/writeBlock', {handleId: 'write', offset: 0, chunk: 'eA=='}),
		sample('fs/watchMissing', {watchId: 1, missing: [uri('made/missing')], present: uri('made')}),
		sample('fs/writeFile', {path: uri('made/missing'), dataBase64: '', ...followed}),
		sample('fs/remove', {path: uri('made/missing'), recursive: true, force: true, ...followed}),
		sample('http/request', request),
		sample('http/request', {...request, requestId: 'request-2', streamResponse: true}),
		sample(
			'process/start',
			{
				...start('pipe', ['sh', '-c', 'echo out; echo err >&2; cat']),
				envPolicy: {inherit: 'core', ignoreDefaultExcludes: true, exclude: ['X'], set: {A: 'b'}, includeOnly: ['Y']},
				arg0: 'sh',
				sandbox: SANDBOX,
				enforceManagedNetwork: false,
				managedNetwork: {loopbackPorts: [1], allowLocalBinding: false},
				networkProxy: NETWORK_PROXY,
				shellSnapshot: {scopeId: 'scope', shell: {name: 'sh', path: '/bin/sh'}},
				metadata: {threadId: '01234567-89ab-7def-8123-456789abcdef', toolCallId: 'call'},
			},
			start('pipe', ['sh', '-c', 'echo out; echo err >&2; cat'], {pipeStdin: true}),
		),
		sample('process/write', {processId: 'pipe', chunk: 'eA==', writeId: '1'}),
		sample('process/read', {processId: 'pipe', afterSeq: 0, maxBytes: 65_536, waitMs: 5000}),
		sample('process/signal', {processId: 'pipe', signal: 'interrupt'}),
		sample('process/terminate', {processId: 'pipe'}),
		sample('process/start', start('terminal', ['sh', '-c', 'echo out'], {tty: true})),
		sample(
			'process/start',
			start('online', [process.execPath, '-e', FORBIDDEN_REQUEST], {networkProxy: NETWORK_PROXY}),
		),
		sample('process/write', {processId: 'online', chunk: 'eA==', writeId: '1'}),
		sample('process/write', {processId: 'unknown', chunk: 'eA==', writeId: '1'}),
	];
}
