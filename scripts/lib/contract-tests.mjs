/** Tests that say the same of every kind of server and every transport; they hold for the stock server, too. */
export const CONTRACT_TESTS = [
	'test/client/contract.test.ts',
	'test/client/run',
	'test/client/files',
	'test/client/http',
	'test/agent-tools',
	'test/mcp',
];
