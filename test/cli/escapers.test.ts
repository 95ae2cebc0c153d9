// covers: src/processes/tree/orphan-scan.ts, src/processes/tree/end-tree.ts, src/processes/tree/wait-for-survivors.ts
import {spawnSync} from 'node:child_process';
import {closeSync, openSync, readSync, writeFileSync, writeSync} from 'node:fs';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {expect, onTestFinished, test} from 'vitest';
import {disconnect} from '../helpers/disconnect.js';
import {optionalProgram} from '../helpers/needs.js';
import {joined, terminate} from '../helpers/process-api.js';
import {eventually} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {serveAsSubreaper} from '../helpers/subreaper.js';

const SOURCE = new URL('../../bench/escapers/escaper.c', import.meta.url).pathname;
const ROUNDS = 6;
const NUMBER_BYTES = 8;
/** A chain that counts nothing for so long has ended: each of its processes lives for a fraction of that. */
const STILL_MS = 150;

interface Chain {
	argv(kind: string, first: 'stays' | 'leaves'): string[];
	/** Processes so far. */
	readonly count: () => bigint;
}

/** Compiles the program whose processes fork, change their session and exit in a tight loop. */
function compileEscaper(): () => Chain {
	const directory = scratchDirectory();
	const program = join(directory, 'escaper');
	const {status, stderr} = spawnSync(optionalProgram('cc'), ['-O1', '-pthread', '-o', program, SOURCE]);
	expect([status, String(stderr)]).toEqual([0, '']);
	let chains = 0;
	return () => openChain(program, join(directory, `count-${++chains}`));
}

function openChain(program: string, file: string): Chain {
	// The second number is the process with which all of them end.
	const numbers = Buffer.alloc(2 * NUMBER_BYTES);
	numbers.writeBigInt64LE(BigInt(process.pid), NUMBER_BYTES);
	writeFileSync(file, numbers);
	const fd = openSync(file, 'r+');
	onTestFinished(() => {
		numbers.writeBigInt64LE(2n ** 30n, NUMBER_BYTES);
		writeSync(fd, numbers, NUMBER_BYTES, NUMBER_BYTES, NUMBER_BYTES);
		closeSync(fd);
	});
	return {
		argv: (kind, first) => [program, file, kind, '3', first],
		count: () => {
			const count = Buffer.alloc(NUMBER_BYTES);
			readSync(fd, count, 0, NUMBER_BYTES, 0);
			return count.readBigInt64LE();
		},
	};
}

async function hasEnded(chain: Chain): Promise<boolean> {
	const before = chain.count();
	await delay(STILL_MS);
	return chain.count() === before;
}

test.each(['sessions', 'threads', 'memory'])(
	'processes that fork and exit in a tight loop are dead when terminate has answered: %s',
	async kind => {
		const open = compileEscaper();
		const {client} = await serveAsSubreaper();
		for (let round = 0; round < ROUNDS; round++) {
			const chain = open();
			await client.start(`p${round}`, chain.argv(kind, 'stays'));
			await eventually(() => chain.count() > 10n);
			expect(await terminate(client, `p${round}`)).toEqual({running: true});
			expect(await hasEnded(chain)).toBe(true);
		}
	},
);

test.each(['sessions', 'threads', 'programs'])(
	'processes that fork and exit in a tight loop end with their session: %s',
	async kind => {
		const open = compileEscaper();
		const {client: observer, url} = await serveAsSubreaper('--detached-session', '1ms');
		for (let round = 0; round < ROUNDS; round++) {
			const chain = open();
			const client = await joined(url);
			await client.start('p', chain.argv(kind, 'leaves'));
			await eventually(() => chain.count() > 10n);
			await disconnect({url, client});
			while (!(await hasEnded(chain)));
			// The server was not busy all that time.
			expect(await observer.call('process/list')).toEqual({processes: []});
		}
	},
);

test('processes that fork and exit in a tight loop end with the server', async () => {
	const open = compileEscaper();
	for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
		const chain = open();
		const {command, client} = await serveAsSubreaper('--shutdown-grace', '10ms');
		await client.start('p', chain.argv('sessions', 'leaves'));
		await eventually(() => chain.count() > 10n);
		command.child.kill(signal);
		expect(await command.ended).toMatchObject(signal === 'SIGTERM' ? {code: 0} : {signal});
		while (!(await hasEnded(chain)));
		expect(chain.count()).toBeGreaterThan(10n);
	}
});
