/** Tests that say the same of every kind of server and every transport; they hold for the stock server, too. */
export const CONTRACT_TESTS = [
	'test/client/contract.test.ts',
	'test/client/run',
	'test/client/files',
	'test/client/http',
	'test/agent-tools',
	'test/mcp',
	'test/hub',
];

/** Further tests that have a part for the stock server. */
export const STOCK_TESTS = [
	'test/cli/copy.test.ts',
	'test/cli/fanout-stock.test.ts',
	'test/server/shell-snapshots-stock.test.ts',
	'test/server/discovery/stock-capabilities.test.ts',
];
