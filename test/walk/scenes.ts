/** One command of a scene, as it is typed. */
export interface Step {
	/** Nothing where a command is still running. */
	readonly type: string;
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
		steps: [{type: 'longarm serve --allow-forward loopback --audit-log audit.log', shows: 'listening'}],
		keeps: {variable: 'URL', pattern: /ws:\/\/[\d.:]+/},
	},
	{name: 'env-add', steps: [{type: 'longarm env add devbox $URL'}]},
	{name: 'env-add-gone', steps: [{type: 'longarm env add gone ws://127.0.0.1:1'}]},
	{name: 'env-list', steps: [{type: 'longarm env list'}]},
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
