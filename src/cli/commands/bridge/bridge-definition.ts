import {COMMON_EXIT_CODES, type CommandDefinition} from '../../command-definition.js';
import {TRUST_OPTIONS} from '../../common/given-trust.js';
import {EXIT} from '../../exit-codes.js';

export const BRIDGE: CommandDefinition = {
	name: 'bridge',
	ownsStreams: true,
	summary: 'speak the protocol of any environment on stdin and stdout, for clients that only start programs',
	arguments: [
		{
			name: 'ENV',
			help: 'a name from environments.toml, a ws:// or wss:// URL, registry+https://HUB/ID, unix:PATH or cmd:COMMAND',
			completes: {kind: 'environment'},
		},
	],
	options: TRUST_OPTIONS,
	details: [
		'One JSON message per line. A lost connection is made again and the session resumed: output that came meanwhile is read, requests that can be repeated are, and others are answered with an error. If that fails, the bridge says why on stderr and ends.',
		'The token of an address is that of LONGARM_EXEC_SERVER_TOKEN.',
	],
	examples: [
		{command: 'longarm bridge devbox'},
		{
			command: 'LONGARM_EXEC_SERVER_TOKEN=$(cat hub.token) longarm bridge registry+https://hub.example/devbox',
			says: 'a machine behind a hub, for an entry with program = "longarm" in the environments.toml of a stock client',
		},
	],
	exitCodes: [[`${EXIT.failed}`, 'the environment cannot be reached, or its session is lost'], COMMON_EXIT_CODES[1]],
	async run({arguments: [environment]}) {
		const {runBridge} = await import('./bridge-command.js');
		return runBridge(environment as string);
	},
};
