import {
	COMMON_EXIT_CODES,
	type CommandDefinition,
	type GroupDefinition,
	JSON_OPTION,
	type OptionDefinition,
	type OptionValues,
} from '../../command-definition.js';
import {EXIT} from '../../exit-codes.js';

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'];
const FORMATS = ['auto', 'json', 'pretty'];
const KINDS = ['executor', 'client'];

const DATA_OPTION: OptionDefinition = {
	flags: '--data <DIR>',
	help: 'directory of registrations and tokens (default: longarm/hub in XDG_STATE_HOME or ~/.local/state)',
	completes: {kind: 'directory'},
};

/** For hubs of many nodes. */
const NATS_OPTIONS: readonly OptionDefinition[] = [
	{
		flags: '--nats <URL>',
		help: 'be one of many nodes: NATS server that all of them use, such as nats://host:4222 or tls://host:4222, or auto to start one here; may be given several times',
		isRepeated: true,
	},
	{flags: '--nats-creds <FILE>', help: 'credentials for NATS, as nsc writes them', completes: {kind: 'file'}},
	{flags: '--nats-token-file <FILE>', help: 'file with a token for NATS', completes: {kind: 'file'}},
	{
		flags: '--nats-ca <FILE>',
		help: 'certificates of authorities that NATS servers are trusted by',
		completes: {kind: 'file'},
	},
	{flags: '--nats-cert <FILE>', help: 'certificate of this node for NATS', completes: {kind: 'file'}},
	{flags: '--nats-key <FILE>', help: 'private key of that certificate', completes: {kind: 'file'}},
	{
		flags: '--nats-synced',
		help: 'the NATS servers have sync_interval: always, which cannot be asked: do not warn that they may lose what they acknowledged',
	},
	{flags: '--nats-replicas <N>', help: 'copies of the state in NATS (default: 3 in a cluster, else 1)'},
];

export const HUB: CommandDefinition = {
	name: 'hub',
	summary: 'let machines behind NAT be reached: registry and relay',
	ownsStreams: true,
	options: [
		{
			flags: '--listen <URL>',
			help: 'http://IP:PORT or https://IP:PORT (default: http://127.0.0.1:8700; port 0 is a free one)',
		},
		DATA_OPTION,
		{
			flags: '--public-url <URL>',
			help: 'address by which machines and clients reach this hub, such as https://hub.example, where a proxy is in front of it',
		},
		{
			flags: '--tls-cert <FILE>',
			help: 'certificate in PEM, with its chain; read again on SIGHUP',
			completes: {kind: 'file'},
		},
		{flags: '--tls-key <FILE>', help: 'private key of the certificate', completes: {kind: 'file'}},
		{
			flags: '--allow-host <NAME>',
			help: 'name in the Host header that is served without TLS, besides addresses; may be given several times',
			isRepeated: true,
		},
		{
			flags: '--gateway',
			help: 'also offer plain WebSockets at /environments/ID: this hub can read what goes through them',
		},
		...NATS_OPTIONS,
		{
			flags: '--drain-timeout <TIME>',
			help: 'how long SIGTERM waits for streams to end before it disconnects everybody, such as 30s (default: 0)',
		},
		{
			flags: '--jobs',
			help: 'take jobs of longarm job submit and run them: this hub is a client of the machines then, and sees what their commands get and print',
		},
		{
			flags: '--console',
			help: 'serve the web console for holders of client tokens, at /console/: this hub can read what goes through it',
		},
		{
			flags: '--log-level <LEVEL>',
			help: `least important entries to log: ${LEVELS.join(', ')} (default: info)`,
			completes: {kind: 'words', words: LEVELS},
		},
		{
			flags: '--log-format <FORMAT>',
			help: 'how to log to stderr: json, pretty, or auto, which is pretty on a terminal (default: auto)',
			completes: {kind: 'words', words: FORMATS},
		},
	],
	details: [
		'Machines dial out to the hub with longarm serve --remote, or a stock codex exec-server --remote, and clients reach them there by registry+https://HUB/ID. What they say to each other is encrypted end to end: the hub sees who talks to whom, how much and when.',
		'The line on stdout is the address; with --console a second one is that for browsers. Logs go to stderr; they are the audit log, too, and hold no secrets.',
		'SIGTERM and Ctrl-C refuse newcomers, disconnect everybody and end the hub; a second one ends it at once. Machines and sessions come back when it is started again with the same --data. SIGHUP reads the certificate again.',
		'With --nats any number of hubs are nodes of one: machines and clients go to any of them, through any TCP balancer, and find each other. Tokens, registrations and keys are in NATS then; --data holds the control socket only.',
		'/readyz says whether it takes connections. /metrics is for Prometheus, with a client token for the pattern *.',
	],
	examples: [
		{command: 'longarm hub', says: 'on this machine, for a try'},
		{command: 'longarm hub --listen https://0.0.0.0:8700 --tls-cert cert.pem --tls-key key.pem'},
		{command: 'longarm hub --public-url https://hub.example --allow-host hub.example', says: 'behind a proxy with TLS'},
		{command: 'longarm hub token create executor devbox', says: 'a token for the machine devbox'},
		{
			command: 'longarm hub --nats nats://n1:4222 --nats nats://n2:4222 --nats-creds hub.creds',
			says: 'one node of many',
		},
	],
	exitCodes: [[`${EXIT.ok}`, 'a signal has ended it'], ...COMMON_EXIT_CODES],
	async run({options}) {
		const {runHub} = await import('./hub-command.js');
		return runHub({
			listen: options['listen'] as string | undefined,
			data: options['data'] as string | undefined,
			publicUrl: options['publicUrl'] as string | undefined,
			tlsCert: options['tlsCert'] as string | undefined,
			tlsKey: options['tlsKey'] as string | undefined,
			allowHosts: (options['allowHost'] ?? []) as readonly string[],
			hasGateway: options['gateway'] === true,
			hasJobs: options['jobs'] === true,
			nats: (options['nats'] ?? []) as readonly string[],
			natsCreds: options['natsCreds'] as string | undefined,
			natsTokenFile: options['natsTokenFile'] as string | undefined,
			natsCa: options['natsCa'] as string | undefined,
			natsCert: options['natsCert'] as string | undefined,
			natsKey: options['natsKey'] as string | undefined,
			isNatsSynced: options['natsSynced'] === true,
			natsReplicas: options['natsReplicas'] as string | undefined,
			drainTimeout: options['drainTimeout'] as string | undefined,
			hasConsole: options['console'] === true,
			logLevel: options['logLevel'] as string | undefined,
			logFormat: options['logFormat'] as string | undefined,
		});
	},
};

export const HUB_LS: CommandDefinition = {
	name: 'hub ls',
	summary: 'list the machines of the hub that runs here, and who is connected',
	options: [
		DATA_OPTION,
		{
			flags: '--select <SELECTOR>',
			help: 'only those of a pool or with labels: pool:NAME, @KEY=VALUE+KEY=VALUE, pool:NAME+KEY=VALUE',
		},
		JSON_OPTION,
	],
	details: [
		'It asks the hub that uses this directory, and needs no token: the right to read the directory is enough. Others see the machines they may use with longarm env list --hub.',
		'Of a machine it shows the id, whether it is online or draining and for how long, the clients connected to it, the fingerprint of its key, and, if it told them, its slots, pools and labels.',
	],
	examples: [
		{command: 'longarm hub ls'},
		{command: 'longarm hub ls --select pool:gpu'},
		{command: "longarm hub ls --json | jq -r '.[] | select(.isOnline).id'"},
	],
	exitCodes: COMMON_EXIT_CODES,
	async run({options}) {
		const {listHubEnvironments} = await import('./hub-list.js');
		const select = options['select'] as string | undefined;
		return listHubEnvironments({...readCommonOptions(options), select});
	},
};

export const HUB_STATUS: CommandDefinition = {
	name: 'hub status',
	summary: 'show the hub that runs here, its NATS server and its other nodes',
	options: [DATA_OPTION, JSON_OPTION],
	details: ['It asks the hub that uses this directory, and needs no token: the right to read the directory is enough.'],
	examples: [{command: 'longarm hub status'}, {command: "longarm hub status --json | jq '.nodes | length'"}],
	exitCodes: COMMON_EXIT_CODES,
	async run({options}) {
		const {showHubStatus} = await import('./hub-status.js');
		return showHubStatus(readCommonOptions(options));
	},
};

export const HUB_DRAIN: CommandDefinition = {
	name: 'hub drain',
	summary: 'end the hub that runs here when its clients have left',
	options: [
		DATA_OPTION,
		{flags: '--timeout <TIME>', help: 'how long to wait for streams to end, such as 30s (default: 60s)'},
	],
	details: [
		'The hub refuses newcomers, /readyz says 503, machines without clients are sent to other nodes at once and all others when their streams have ended or the time is over. Then it ends. Sessions are resumed at another node.',
		'Stock executors wait longer after each loss within two minutes: drain the next node two minutes later.',
	],
	examples: [{command: 'longarm hub drain --timeout 5m'}],
	exitCodes: COMMON_EXIT_CODES,
	async run({options}) {
		const {drainHub} = await import('./hub-status.js');
		const {parseDrainTimeout} = await import('./hub-command.js');
		const timeoutMs = parseDrainTimeout((options['timeout'] as string | undefined) ?? '60s');
		return drainHub({data: options['data'] as string | undefined, timeoutMs});
	},
};

export const HUB_TOKEN: GroupDefinition = {name: 'hub token', summary: 'create, list and revoke tokens of a hub'};

export const HUB_TOKEN_CREATE: CommandDefinition = {
	name: 'hub token create',
	summary: 'make a token for machines or for clients of a hub',
	arguments: [
		{
			name: 'KIND',
			help: 'executor, for a machine that registers, or client, for those who use machines',
			completes: {kind: 'words', words: KINDS},
		},
		{name: 'PATTERN', help: 'ids of machines it is good for; * stands for any characters'},
	],
	options: [
		DATA_OPTION,
		{flags: '--tenant <NAME>', help: 'tenant whose machines it is good for (default: default)'},
		JSON_OPTION,
	],
	details: [
		'The token is printed, alone on its line, and kept nowhere: the hub has its digest only. A hub that runs takes it from now on.',
		'A token reaches machines of its tenant only: two tenants may use the same ids, and neither sees the other.',
	],
	examples: [
		{command: 'longarm hub token create executor devbox > devbox.token'},
		{command: "longarm hub token create client 'dev*'", says: 'for all machines whose ids begin with dev'},
	],
	exitCodes: COMMON_EXIT_CODES,
	async run({arguments: [kind, pattern], options}) {
		const {createHubToken} = await import('./hub-tokens-command.js');
		const tenant = options['tenant'] as string | undefined;
		return createHubToken(kind as string, pattern as string, {...readCommonOptions(options), tenant});
	},
};

export const HUB_TOKEN_LIST: CommandDefinition = {
	name: 'hub token list',
	summary: 'list the tokens of a hub',
	options: [DATA_OPTION, JSON_OPTION],
	details: ['The tokens themselves are not kept; the id is for longarm hub token revoke.'],
	examples: [{command: 'longarm hub token list'}],
	exitCodes: COMMON_EXIT_CODES,
	async run({options}) {
		const {listHubTokens} = await import('./hub-tokens-command.js');
		return listHubTokens(readCommonOptions(options));
	},
};

export const HUB_TOKEN_REVOKE: CommandDefinition = {
	name: 'hub token revoke',
	summary: 'take a token of a hub back',
	arguments: [{name: 'ID', help: 'of the token, as longarm hub token list shows it'}],
	options: [DATA_OPTION],
	details: [
		'A hub that runs refuses it from the next request on, and within seconds disconnects those who came in with it.',
	],
	examples: [{command: 'longarm hub token revoke 3f9a01c2'}],
	exitCodes: [[`${EXIT.failed}`, 'there is no such token, or the directory cannot be used'], COMMON_EXIT_CODES[1]],
	async run({arguments: [id], options}) {
		const {revokeHubToken} = await import('./hub-tokens-command.js');
		return revokeHubToken(id as string, readCommonOptions(options));
	},
};

function readCommonOptions(options: OptionValues): {readonly data: string | undefined; readonly json: boolean} {
	return {data: options['data'] as string | undefined, json: options['json'] === true};
}
