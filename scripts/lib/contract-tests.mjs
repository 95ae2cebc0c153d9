import {readdirSync, readFileSync, statSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

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
	'test/interop/recording.test.ts',
	'test/sandbox/upstream-rules.test.ts',
	'test/server/shell-snapshots-stock.test.ts',
	'test/server/discovery/stock-capabilities.test.ts',
];

/** Tests of a short run with the stock server: its processes on every transport, a hub, and its recording. */
export const SHORT_STOCK_TESTS = [
	'test/client/contract.test.ts',
	'test/hub/stock-executor.test.ts',
	'test/interop/recording.test.ts',
	'test/sandbox/upstream-rules.test.ts',
];

/** Lists the test files that use the program in `CODEX_BIN`; loading the others takes longer than running these. */
export function listPeerTests() {
	return [...CONTRACT_TESTS, ...STOCK_TESTS]
		.flatMap(path => (statSync(join(root, path)).isFile() ? [path] : listFiles(path)))
		.filter(path => path.endsWith('.test.ts') && usesPeer(join(root, path)));
}

function listFiles(folder) {
	return readdirSync(join(root, folder), {recursive: true, encoding: 'utf8'}).map(name => join(folder, name));
}

/** Returns whether a module of the tests, or one that it imports, reads `CODEX_BIN`. */
function usesPeer(file, seen = new Set()) {
	seen.add(file);
	const text = readFileSync(file, 'utf8');
	if (text.includes('CODEX_BIN')) return true;
	const imported = [...text.matchAll(/ from '(\.[^']+)\.js'/g)].map(([, path]) => `${join(dirname(file), path)}.ts`);
	return imported.some(path => path.includes('/test/') && !seen.has(path) && usesPeer(path, seen));
}
