// The command line of the suite; scripts/conformance.mjs takes the same options.
import {parseArgs} from 'node:util';

export const PROFILES = ['core', 'current', 'v0', 'design'];

export const USAGE = `usage: node test/conformance/run.mjs --server-cmd CMD [--stdio-cmd CMD] [options]
  --server-cmd CMD   starts a WebSocket server on a free port and prints its ws:// address on stdout or stderr
  --stdio-cmd CMD    starts a server on stdin and stdout (the stdio group is skipped without it)
  --profile LIST     ${PROFILES.join(', ')} (default core,current); v0 wants a server in v0 mode
  --only LIST        groups; --grep TEXT: tests whose name contains TEXT; --list: names only
  --slow             include the tests that wait until sessions and closed processes expire
  --retention S      how many seconds the server keeps those (default 80; codex before 0.169 keeps them for 30)
  --upstream         skip what the codex 0.166.0 server is known to do wrong
  --jobs N           tests at once (default 6); --json FILE: results; --verbose: a line per test`;

export const OPTIONS = {
	help: {type: 'boolean', default: false},
	'server-cmd': {type: 'string'},
	'stdio-cmd': {type: 'string'},
	profile: {type: 'string', default: 'core,current'},
	only: {type: 'string'},
	grep: {type: 'string'},
	slow: {type: 'boolean', default: false},
	retention: {type: 'string', default: '80'},
	upstream: {type: 'boolean', default: false},
	jobs: {type: 'string', default: '6'},
	json: {type: 'string'},
	list: {type: 'boolean', default: false},
	verbose: {type: 'boolean', default: false},
};

/** Parses the arguments of this process; answers --help and exits with 2 on a mistake. */
export function readOptions(options = OPTIONS, usage = USAGE) {
	try {
		const {values} = parseArgs({options});
		if (values.help) {
			console.log(usage);
			process.exit(0);
		}
		checkValues(values);
		return values;
	} catch (error) {
		console.error(`${error.message}\n${usage}`);
		process.exit(2);
	}
}

function checkValues({profile, jobs, retention}) {
	const unknown = split(profile).find(name => !PROFILES.includes(name));
	if (unknown) throw new Error(`unknown profile ${unknown}; expected ${PROFILES.join(', ')}`);
	if (!(Number(jobs) >= 1)) throw new Error(`--jobs must be a number of at least 1, got ${jobs}`);
	if (!(Number(retention) > 0)) throw new Error(`--retention must be a number of seconds above 0, got ${retention}`);
}

/** The items of a comma-separated list; none when it was not given. */
export function split(list = '') {
	return list
		.split(',')
		.map(item => item.trim())
		.filter(Boolean);
}
