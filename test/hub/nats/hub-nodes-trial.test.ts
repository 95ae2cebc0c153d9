// covers: src/hub/nats, bench/hub-nodes.mjs
import {execFile} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {expect, test} from 'vitest';
import {needs} from '../../helpers/needs.js';

const TRIAL = fileURLToPath(new URL('../../../bench/hub-nodes.mjs', import.meta.url));
const FAULTS = 4;

test(
	'nodes of hub and NATS that are killed, frozen and drained under load cost no byte',
	needs('nats-server'),
	async () => {
		const args = [TRIAL, '--faults', String(FAULTS), '--clients', '2', '--processes', '2'];
		const {stdout, stderr} = await promisify(execFile)(process.execPath, args);
		expect(stdout).not.toContain('**NO**');
		expect(stderr).toContain(`${FAULTS}/${FAULTS}: `);
		expect(stdout).toMatch(/bytes neither read nor announced \| 0 \|/);
	},
);
