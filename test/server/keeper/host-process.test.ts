import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {ProcessTable} from '../../../src/processes/process-table.js';
import {StartQueue} from '../../../src/processes/start-queue.js';
import {hostProcess} from '../../../src/server/keeper/host-process.js';
import type {HeldProcess} from '../../../src/server/keeper/keeper-methods.js';
import {nativeBackend} from '../../helpers/children.js';
import {openFilesBelow} from '../../helpers/open-files.js';
import {createSpill} from '../../helpers/spills.js';

test('a process of a keeper whose files are damaged is refused, and they are closed', () => {
	const spill = createSpill();
	spill.append({seq: 1, stream: 'stdout', bytes: Buffer.from('output')});
	spill.close();
	const {directory} = spill;
	writeFileSync(join(directory, 'exit.json'), 'no JSON');
	const table = new ProcessTable({
		backend: nativeBackend,
		starts: new StartQueue(),
		retention: {bytes: 1000, chunks: 10},
		retainClosedMs: 0,
		variables: {},
		quotas: [],
	});
	const held = {
		processId: 'process',
		argv: ['true'],
		directory,
		sandbox: 'none',
		sharing: null,
	} as unknown as HeldProcess;
	expect(() => hostProcess(table, held, 'test', undefined)).toThrow('exit.json is damaged');
	expect(openFilesBelow(directory)).toEqual([]);
	expect([...table]).toEqual([]);
});
