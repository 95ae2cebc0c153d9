/** One command of a scene, as it is typed. */
export interface Step {
	/** Nothing where a command is still running. */
	readonly type: string;
	/** Typed to a command that is running, without Enter. */
	readonly keys?: string;
	/** Waited for instead of the end of the command, which goes on. */
	readonly shows?: string;
	/** Pressed then; after it the end of the command is waited for. */
	readonly press?: string;
}

/** What somebody does in a terminal that is clear at first; its last screen is compared with a file. */
export interface Scene {
	readonly name: string;
	/** In a window of its own; `main` if left out. */
	readonly window?: string;
	readonly steps: readonly Step[];
	/** The first match in the last screen becomes this variable of every other window. */
	readonly keeps?: {readonly variable: string; readonly pattern: RegExp};
}

/**
 * The walk, in order: later scenes use what earlier ones left. Programs see $LONGARM_HOME and, once a server runs, its
 * address in $URL.
 */
export const SCENES: readonly Scene[] = [
	{name: 'help', steps: [{type: 'longarm --help'}]},
	{name: 'help-env-test', steps: [{type: 'longarm env test --help'}]},
	{name: 'help-serve', steps: [{type: 'longarm serve --help | head -20'}]},
	{name: 'misspelt', steps: [{type: 'longarm sever'}]},
	{name: 'misused', steps: [{type: 'longarm serve --retain-bytes lots'}]},
	{
		name: 'serve',
		window: 'server',
		steps: [{type: 'longarm serve --allow-forward loopback --audit-log audit.log --state state', shows: 'listening'}],
		keeps: {variable: 'URL', pattern: /ws:\/\/[\d.:]+/},
	},
	{name: 'env-add', steps: [{type: 'longarm env add devbox $URL'}]},
	{name: 'env-add-gone', steps: [{type: 'longarm env add gone ws://127.0.0.1:1'}]},
	{name: 'env-list', steps: [{type: 'longarm env list'}]},
	{name: 'each', steps: [{type: 'longarm each -e devbox,local,gone -- echo hello'}]},
	{name: 'env-test', steps: [{type: 'longarm env test'}]},
	{name: 'env-remove', steps: [{type: 'longarm env remove gone'}]},
	{name: 'env-unknown', steps: [{type: 'longarm env remove gone'}]},
	{
		name: 'run',
		steps: [
			{type: `longarm run -e devbox -- sh -c 'echo to stdout; echo to stderr >&2; exit 3'`},
			{type: 'echo "it exited with $?"'},
			{type: `printf 'pear\\nfig\\n' | longarm run -e devbox -- sort | head -1`},
			{type: 'longarm run -e devbox -- no-such-program'},
			{type: 'longarm run -e devbox --cwd /no/such -- true'},
			{type: 'longarm run -e devbox --timeout 100ms -- sleep 1000; echo "it exited with $?"'},
		],
	},
	{
		name: 'default-environment',
		steps: [
			{type: 'LONGARM_ENVIRONMENT=devbox longarm run -- echo over there'},
			{type: 'LONGARM_ENVIRONMENT=devbox longarm run -q -- echo over there, quietly'},
			{type: 'LONGARM_ENVIRONMENT=devbox longarm run -e local -- echo here'},
			{type: 'LONGARM_ENVIRONMENT=devbox longarm env list'},
			{type: 'longarm run -e devbx -- true'},
		],
	},
	{
		name: 'sandbox-misused',
		steps: [
			{type: 'longarm run --sandbox readonly -- true'},
			{type: 'longarm run --sandbox workspace-write --cwd / -- true'},
		],
	},
	{
		name: 'run-interrupted',
		steps: [
			{type: `longarm run -e devbox -- sh -c 'echo working; sleep 1000'`, shows: '\nworking', press: 'C-c'},
			{type: 'echo "it exited with $?"'},
		],
	},
	{
		name: 'shell',
		steps: [
			{type: `longarm shell -e devbox --env 'PS1=there> ' -- sh`, shows: '\nthere>'},
			{type: 'stty size; test -t 2 && echo on a terminal', shows: 'on a terminal\nthere>'},
			{type: 'exit 4'},
			{type: 'echo "it exited with $?"'},
		],
	},
	{name: 'shell-without-terminal', steps: [{type: 'echo true | longarm shell -e devbox'}]},
	{
		name: 'copy',
		steps: [
			{type: 'mkdir -p site/img there; echo hello > site/index.html; echo pixels > site/img/a.png'},
			{type: 'longarm cp site devbox:$PWD/there'},
			{type: 'longarm cp -r site devbox:$PWD/there/'},
			{type: 'longarm cp -r site devbox:$PWD/there/'},
			{type: 'longarm ls devbox:$PWD/there/site'},
			{type: 'longarm cat devbox:$PWD/there/site/index.html'},
			{type: 'longarm get devbox:$PWD/there/site/index.html home.html && cat home.html'},
			{type: 'longarm put home.html devbox:$PWD/there/'},
			{type: `longarm ls --json devbox:$PWD/there | grep -c '"kind"'`},
			{type: 'longarm cat devbox:$PWD/no-such-file'},
			{type: `longarm ls "devbox:$PWD/there/site/*.html"`},
			{type: 'longarm cp -r site devbox'},
		],
	},
	{
		name: 'run-detached',
		steps: [
			{type: `longarm run -d -e devbox --name build --label kind=demo -- sh -c 'echo hi; exit 3'`},
			{type: 'longarm wait -e devbox build; echo "it exited with $?"'},
			{type: 'longarm logs -e devbox build'},
			{type: 'longarm logs -e devbox -t build'},
			{type: 'longarm run -d -e devbox --name build -- no-such-program'},
			{type: `longarm run -d -e devbox --name 'my build' -- true`},
		],
	},
	{
		name: 'ps',
		steps: [
			{type: `longarm run -d -e devbox --name shell -t --env 'PS1=there> ' -- sh`},
			{type: 'longarm wait -e devbox shell --input'},
			{type: 'longarm ps -e devbox'},
			{type: 'longarm ps -a -e devbox -e gone-by --label kind=demo'},
			{type: 'longarm ps -a -e devbox -e ws://127.0.0.1:1 --label kind=demo'},
			{type: 'longarm ps --watch | cat'},
		],
	},
	{
		name: 'attach',
		steps: [
			{type: 'longarm attach -e devbox shell', shows: 'you drive'},
			{type: 'echo "$((40 + 2))"', shows: '\n42\nthere>'},
			{type: '', press: '~d'},
			{type: 'echo "it exited with $?"'},
		],
	},
	{
		name: 'attach-observer',
		window: 'driver',
		steps: [{type: 'longarm attach -e devbox shell', shows: 'you drive'}],
	},
	{
		name: 'attach-take-over',
		steps: [
			{type: 'longarm attach -e devbox shell', shows: 'so you are watching'},
			{type: '', keys: '~t', shows: 'you drive'},
			{type: '', keys: '~o', shows: 'nobody drives and you are watching'},
			{type: '', press: '~d'},
		],
	},
	{name: 'attach-driver-leaves', window: 'driver', steps: [{type: '', shows: 'does not drive any more', press: '~d'}]},
	{
		name: 'screen',
		steps: [
			{type: 'longarm screen -e devbox shell | grep -c there'},
			{type: 'longarm screen -e devbox build'},
			{type: 'longarm screen -e devbox --at noon shell'},
		],
	},
	{
		name: 'wait',
		steps: [
			{type: 'longarm wait -e devbox shell --text "there>" --json'},
			{type: 'longarm wait -e devbox shell --timeout 50ms; echo "it exited with $?"'},
			{type: 'longarm wait -e devbox build --port 1; echo "it exited with $?"'},
			{type: 'longarm wait -e devbox biuld'},
		],
	},
	{
		name: 'share',
		steps: [{type: 'longarm share -e devbox shell'}, {type: 'longarm share -e local shell'}],
	},
	{
		name: 'stop-rm',
		steps: [
			{type: 'longarm rm -e devbox shell 2>&1 | tail -1'},
			{type: 'longarm stop -e devbox --grace 100ms shell'},
			{type: 'longarm stop -e devbox shell nobody'},
			{type: 'longarm rm -e devbox shell'},
		],
	},
	{
		name: 'replay-export',
		steps: [
			{type: `longarm run -d -q -e devbox --name film --record -t -- printf 'a short film\\n' > id`},
			{type: 'longarm wait -e devbox film'},
			{type: 'longarm export -e devbox film -o film.cast && tail -1 film.cast'},
			{type: 'longarm export -e devbox film'},
			{type: 'longarm replay -e devbox film'},
			{type: 'longarm replay film.cast --speed 2'},
			{type: 'longarm replay --speed 0 film.cast'},
		],
	},
	{name: 'mcp-help', steps: [{type: 'longarm mcp --help | head -20'}]},
	{
		name: 'mcp-setup',
		steps: [
			{type: 'mkdir -p person/.codex'},
			{type: `HOME=$PWD/person longarm mcp setup --dry-run --client codex | sed 's/ = .*/ = .../'`},
			{type: 'find person -type f'},
		],
	},
	{
		name: 'mcp-by-hand',
		steps: [
			{type: 'longarm mcp -e ws://127.0.0.1:1', shows: 'mcp setup', press: 'C-c'},
			{type: 'echo "it exited with $?"'},
		],
	},
	{name: 'upgrade', steps: [{type: 'longarm upgrade -e devbox'}]},
	{name: 'completion', steps: [{type: 'longarm completion bash | head -3'}]},
	{name: 'forward', steps: [{type: 'longarm forward -e devbox 0:${URL##*:}', shows: '->', press: 'C-c'}]},
	{
		name: 'forward-not-allowed',
		steps: [{type: "longarm forward -e 'cmd:longarm serve --listen stdio --log-level silent' 0:1"}],
	},
	{name: 'unreachable', steps: [{type: 'longarm forward -e ws://127.0.0.1:1 8080:80'}]},
	{name: 'doctor', steps: [{type: 'longarm doctor || true'}]},
	{name: 'serve-ends', window: 'server', steps: [{type: '', press: 'C-c'}]},
];
