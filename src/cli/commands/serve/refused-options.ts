import type {RefusedOption} from '../../command-definition.js';

const OTHER_CREDENTIALS =
	'Use a token of the hub: --token-file FILE, --registration-bearer-stdin, --executor-credential-stdin or CODEX_API_KEY.';

/** Options of upstream's exec-server that this server refuses. */
export const REFUSED_SERVE_OPTIONS: readonly RefusedOption[] = [
	{
		prefix: '--chatgpt-',
		reason: "a ChatGPT login can be checked by OpenAI's own service only",
		hint: OTHER_CREDENTIALS,
	},
	{
		prefix: '--use-agent-identity-auth',
		reason: "an agent identity can be checked by OpenAI's own service only",
		hint: OTHER_CREDENTIALS,
	},
	{
		prefix: '--aws-',
		reason: 'it belongs to the transport `direct`, which is not end-to-end encrypted',
		hint: OTHER_CREDENTIALS,
	},
	{
		prefix: '--linux-sandbox-pid-namespace',
		reason: 'a sandboxed process gets a PID namespace of its own wherever the machine allows it',
		hint: 'Leave the option out; a command that must see other processes has to run without a sandbox.',
	},
	{
		prefix: '--proxy-private-ips-via-upstream',
		reason: 'longarm starts no network proxy for sandboxed processes',
		hint: 'Set HTTP_PROXY, HTTPS_PROXY and NO_PROXY: they apply to the HTTP requests that clients send through this server.',
	},
];
