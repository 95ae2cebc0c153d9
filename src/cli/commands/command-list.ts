import type {CommandDefinition, Example, GroupDefinition} from '../command-definition.js';
import {AGENT, AGENT_RUN} from './agent/agent-definition.js';
import {ATTACH} from './attach/attach-definition.js';
import {BRIDGE} from './bridge/bridge-definition.js';
import {CAT} from './cat/cat-definition.js';
import {COMPLETION} from './completion/completion-definition.js';
import {CONSOLE} from './console/console-definition.js';
import {CP, GET, PUT} from './copy/copy-definition.js';
import {DAEMON, DAEMON_STOP} from './daemon/daemon-definition.js';
import {DOCTOR} from './doctor/doctor-definition.js';
import {EACH} from './each/each-definition.js';
import {ENV, ENV_ADD, ENV_LIST, ENV_REMOVE, ENV_TEST} from './env/env-definition.js';
import {EXPORT} from './export/export-definition.js';
import {
	FANOUT,
	FANOUT_CANCEL,
	FANOUT_EXPORT,
	FANOUT_LIST,
	FANOUT_RESUME,
	FANOUT_STATUS,
} from './fanout/fanout-definition.js';
import {FORWARD} from './forward/forward-definition.js';
import {
	HUB,
	HUB_DRAIN,
	HUB_LS,
	HUB_STATUS,
	HUB_TOKEN,
	HUB_TOKEN_CREATE,
	HUB_TOKEN_LIST,
	HUB_TOKEN_REVOKE,
} from './hub/hub-definition.js';
import {INSTALL_SERVICE} from './install-service/install-service-definition.js';
import {JOB, JOB_CANCEL, JOB_EXPORT, JOB_LIST, JOB_LOGS, JOB_STATUS, JOB_SUBMIT} from './job/job-definition.js';
import {LOGS} from './logs/logs-definition.js';
import {LS} from './ls/ls-definition.js';
import {MCP} from './mcp/mcp-definition.js';
import {MCP_SETUP} from './mcp/setup/setup-definition.js';
import {PS} from './ps/ps-definition.js';
import {REMOVE} from './remove/remove-definition.js';
import {REPLAY} from './replay/replay-definition.js';
import {REPORT} from './report/report-definition.js';
import {RUN} from './run/run-definition.js';
import {SHELL} from './run/shell-definition.js';
import {SCREEN} from './screen/screen-definition.js';
import {SERVE} from './serve/serve-definition.js';
import {SERVE_FORWARD} from './serve/serve-forward-definition.js';
import {SHARE} from './share/share-definition.js';
import {STOP} from './stop/stop-definition.js';
import {UPGRADE} from './upgrade/upgrade-definition.js';
import {WAIT} from './wait/wait-definition.js';

/** Every command, in the order in which help shows them. */
export const COMMANDS: readonly CommandDefinition[] = [
	RUN,
	SHELL,
	EACH,
	FANOUT,
	FANOUT_RESUME,
	FANOUT_STATUS,
	FANOUT_CANCEL,
	FANOUT_EXPORT,
	FANOUT_LIST,
	JOB_SUBMIT,
	JOB_STATUS,
	JOB_LOGS,
	JOB_EXPORT,
	JOB_CANCEL,
	JOB_LIST,
	REPORT,
	FORWARD,
	AGENT_RUN,
	PS,
	LOGS,
	ATTACH,
	WAIT,
	SCREEN,
	STOP,
	REMOVE,
	REPLAY,
	EXPORT,
	SHARE,
	LS,
	CAT,
	CP,
	PUT,
	GET,
	ENV_LIST,
	ENV_ADD,
	ENV_REMOVE,
	ENV_TEST,
	BRIDGE,
	MCP,
	MCP_SETUP,
	SERVE,
	SERVE_FORWARD,
	HUB,
	HUB_LS,
	HUB_STATUS,
	HUB_DRAIN,
	HUB_TOKEN_CREATE,
	HUB_TOKEN_LIST,
	HUB_TOKEN_REVOKE,
	CONSOLE,
	DAEMON_STOP,
	UPGRADE,
	INSTALL_SERVICE,
	DOCTOR,
	COMPLETION,
];

export const GROUPS: readonly GroupDefinition[] = [ENV, AGENT, JOB, HUB_TOKEN, DAEMON];

/** Commands and groups by what they are about, in the order in which help shows them. */
export const SECTIONS: readonly {readonly title: string; readonly names: readonly string[]}[] = [
	{title: 'Work', names: ['run', 'shell', 'each', 'forward', 'fanout', 'job', 'report', 'agent']},
	{
		title: 'Processes',
		names: ['ps', 'logs', 'attach', 'wait', 'screen', 'stop', 'rm', 'replay', 'export', 'share'],
	},
	{title: 'Files', names: ['ls', 'cat', 'cp', 'put', 'get']},
	{title: 'Environments', names: ['env', 'bridge']},
	{title: 'Server', names: ['serve', 'hub', 'console', 'mcp', 'daemon', 'upgrade', 'install-service', 'doctor']},
	{title: 'More', names: ['completion', 'help']},
];

/** Examples of the first help page. */
export const FIRST_EXAMPLES: readonly Example[] = [
	{command: 'longarm serve --listen ws://127.0.0.1:4500', says: 'serve this machine'},
	{command: 'longarm run -e ws://127.0.0.1:4500 -- make test', says: 'run a command over there'},
	{command: 'longarm cp report.pdf ws://127.0.0.1:4500:/srv/', says: 'copy a file over there'},
];
