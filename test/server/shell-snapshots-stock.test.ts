import {describe, expect, onTestFinished, test} from 'vitest';
import {connectCommand} from '../../src/transports/node/connect-command.js';
import {LoginHome} from '../helpers/login-shells.js';
import {needs, unless} from '../helpers/needs.js';
import {TestClient} from '../helpers/test-client.js';

const codex = process.env['CODEX_BIN'];

interface Case {
	readonly profile: string;
	/** Run one after the other in one session. */
	readonly commands: readonly string[];
	readonly env?: Readonly<Record<string, string>>;
	readonly envPolicy?: object;
}

/** Variables that both servers and shells set in their own way. */
const SHOW_VARIABLES = `env | grep -v -e '^PATH=' -e '^SHLVL=' -e '^_=' -e '^OLDPWD=' -e '^LOGNAME=' | sort`;
const POLICY = {inherit: 'core', ignoreDefaultExcludes: false, exclude: ['DENIED'], set: {SET: 'policy'}};

const CASES: Readonly<Record<string, Case>> = {
	'variables, functions and options': {
		profile: `export A="a'b \\"c\\"" B='x
y'; f() { echo "f $1"; }; set -o noclobber; set -u; echo noise; echo noise >&2; hidden=1`,
		commands: [`f 1; echo "$A"; echo "\${hidden-none}"; ${SHOW_VARIABLES}`, 'f 2; set +o; set -o'],
	},
	'variables of the request': {
		profile: 'export BOTH=profile OWN=profile',
		commands: ['echo $BOTH $OWN'],
		env: {BOTH: 'request'},
	},
	'a policy for variables': {
		profile: 'export MY_TOKEN=1 DENIED=1 ALLOWED=1 SET=profile',
		commands: [SHOW_VARIABLES],
		envPolicy: {...POLICY, includeOnly: []},
	},
	'a policy that names variables': {
		profile: 'export ALLOWED=1 OTHER=1',
		commands: [SHOW_VARIABLES],
		envPolicy: {...POLICY, includeOnly: ['ALLOWED', 'HOME', 'PATH']},
	},
	'startup files that end the shell': {profile: 'exit 3', commands: ['echo hi', 'echo hi']},
	'startup files that change the directory': {profile: 'cd /', commands: ['pwd', 'pwd']},
	'large variables': {profile: `export LARGE=$(printf '%0100000d' 0)`, commands: ['echo ${#LARGE}']},
	'noise beyond the limit': {profile: `printf '%0600000d' 0`, commands: ['echo hi', 'echo hi']},
};

describe.each(['bash', 'zsh'])('the stock codex server gives %s the same from a snapshot', shell => {
	const options = codex ? needs(shell) : unless('CODEX_BIN names no stock codex');
	test.each(Object.entries(CASES))('with %s', options, async (_, {profile, commands, ...start}) => {
		const theirs = await runAll(shell, profile, commands, start, async home => {
			const env = {HOME: home.path, CODEX_HOME: home.path};
			const transport = await connectCommand(codex!, {args: ['exec-server', '--listen', 'stdio'], env});
			onTestFinished(() => transport.destroy());
			return new TestClient(transport).initialize();
		});
		const ours = await runAll(shell, profile, commands, start, home =>
			home.client({variables: {...process.env, HOME: home.path, CODEX_HOME: home.path}}),
		);
		expect(ours).toEqual(theirs);
	});
});

async function runAll(
	shell: string,
	profile: string,
	commands: readonly string[],
	start: object,
	connect: (home: LoginHome) => Promise<TestClient>,
) {
	const home = new LoginHome(shell, profile);
	const client = await connect(home);
	const results = [];
	for (const [index, command] of commands.entries()) {
		const {stdout, ...rest} = await home.run(client, `p${index}`, command, {...start});
		results.push({...rest, stdout: stdout.replaceAll(home.path, '~')});
	}
	return {results, runs: home.runs};
}
