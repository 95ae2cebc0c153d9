import {join} from 'node:path';
import {describe, expect, onTestFinished, test} from 'vitest';
import {connectCommand} from '../../../src/transports/node/connect-command.js';
import {CAPABILITY_TREES, plantTree} from '../../helpers/capability-trees.js';
import {unless} from '../../helpers/needs.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {execServer} from '../../helpers/serving.js';
import {TestClient} from '../../helpers/test-client.js';

const codex = process.env['CODEX_BIN'];

function discover(client: TestClient): Promise<unknown> {
	return client.call('capabilities/discoverV2', {cwd: 'file:///tmp', sandbox: null});
}

describe('the stock codex server finds the same', unless(codex ? undefined : 'CODEX_BIN names no stock codex'), () => {
	test.each(Object.entries(CAPABILITY_TREES))('%s', async (_, tree) => {
		const HOME = scratchDirectory();
		const CODEX_HOME = join(HOME, '.codex');
		plantTree(HOME, {'.codex/config.toml': '', ...tree});
		const theirs = await connectCommand(codex!, {args: ['exec-server', '--listen', 'stdio'], env: {HOME, CODEX_HOME}});
		onTestFinished(() => theirs.destroy());
		const expected = await discover(await new TestClient(theirs).initialize());
		const ours = await TestClient.overMemory(execServer({variables: {HOME, CODEX_HOME}})).initialize();
		expect(await discover(ours)).toEqual(expected);
	});
});
