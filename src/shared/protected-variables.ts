/** Environment variables with credentials and switches of the executor itself, in capitals; never passed to clients. */
export const PROTECTED_VARIABLES: ReadonlySet<string> = new Set([
	'CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN',
	'NODE_REPL_AUTH_TOKEN',
	'OPENAI_FEDERATION_RULE_ID',
	'OPENAI_IDENTITY_TOKEN_FILE',
	'OPENAI_WORKLOAD_IDENTITY_CONTEXT',
	'CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE',
	'LONGARM_EXEC_SERVER_TOKEN',
]);
