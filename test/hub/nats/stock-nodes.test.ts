// covers: src/hub/nats, test/interop/lib/hub-nodes.mjs
import {execFile} from 'node:child_process';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {expect, onTestFinished, test} from 'vitest';
import {Environment} from '../../../src/environments/environment.js';
import {PROGRAM} from '../../helpers/command.js';
import {isInstalled, unless} from '../../helpers/needs.js';
import {scratchDirectory} from '../../helpers/scratch.js';

/** A hub of three nodes, see `test/interop/lib/hub.mjs`. */
interface InteropHub {
	readonly clientToken: string;
	readonly executor: {readonly registryUrl: string};
	start(): Promise<InteropHub>;
	serve(command: string, scratch: Scratch): Promise<void>;
	killExecutorNode(): Promise<void>;
	stop(): Promise<void>;
}

interface Scratch {
	remove(): void;
}

const RIG = new URL('../../interop/', import.meta.url);
const DIST = fileURLToPath(new URL('../../../dist', import.meta.url));
/** Of the stock client: a command, a terminal, files, lost connections of either end, and a killed node. */
const SCENARIOS = [
	'a-simple-command',
	'b-tty-interaction',
	'd-apply-patch',
	'm-reconnect',
	'm2-executor-cut',
	'm3-node-killed',
];
const ALL_PASSED = SCENARIOS.map(name => `PASS ${name}`);
const LINES = 300;

const CODEX = process.env['CODEX_BIN'];
const NO_PEER = CODEX === undefined ? 'the stock peer is installed by npm run test:interop' : undefined;
const NO_NATS = isInstalled('nats-server') ? undefined : 'nats-server is not installed';
const NEEDS_BOTH = unless(NO_PEER ?? NO_NATS);

/** A stock executor at the first node of a hub, and a client of ours at the second; both end with the test. */
async function stockExecutorElsewhere(): Promise<{hub: InteropHub; box: Environment}> {
	const {InteropHub} = (await import(new URL('lib/hub.mjs', RIG).href)) as {
		InteropHub: new (dist: string, folder: string, options: {hasNodes: boolean}) => InteropHub;
	};
	const {Scratch} = (await import(new URL('lib/surroundings.mjs', RIG).href)) as {
		Scratch: new (parent: string) => Scratch;
	};
	const hub = new InteropHub(DIST, scratchDirectory(), {hasNodes: true});
	onTestFinished(() => hub.stop());
	await hub.start();
	await hub.serve(`exec '${CODEX}' exec-server`, new Scratch(scratchDirectory()));
	const {registryUrl: url} = hub.executor;
	const box = Environment.remote('box', {kind: 'registry', url, token: hub.clientToken, executorKey: 'any'});
	onTestFinished(() => box.close());
	return {hub, box};
}

/** Runs the stock client, at the second node, with an executor at the first; each scenario with its outcome, and the reason of one that failed. */
async function scenariosWith(command: string): Promise<string[]> {
	const flags = ['--hub', DIST, '--nodes', '--remote-cmd', command, '--only', SCENARIOS.join()];
	const args = [fileURLToPath(new URL('run.mjs', RIG)), ...flags, '--scratch', scratchDirectory()];
	const {stdout} = await promisify(execFile)(process.execPath, args).catch(
		(error: unknown) => error as {stdout: string},
	);
	return stdout
		.trim()
		.split('\n')
		.filter(line => /^[A-Z]+ /.test(line))
		.map(line => line.replace(/^(PASS \S+).*/, '$1'))
		.sort();
}

test('a stock executor at one node is reached at another: a command, a terminal and a file', NEEDS_BOTH, async () => {
	const {box} = await stockExecutorElsewhere();
	const {stdout, exitCode} = await box.shell('seq 1 20000; exit 3', {reject: false});
	expect([stdout.text.split('\n').length, exitCode]).toEqual([20_001, 3]);
	// Stock servers give every terminal the same size.
	const terminal = await box.run(['sh', '-c', 'stty size'], {tty: {rows: 30, cols: 90}});
	expect(terminal.stdout.text).toContain('24 80');
	const content = Buffer.alloc(1024 * 1024, 'longarm ');
	const path = join(scratchDirectory(), 'file');
	await box.files.writeFile(path, content);
	expect(Buffer.from(await box.files.readFile(path)).equals(content)).toBe(true);
});

test(
	'a stock executor whose node is killed in mid-command goes on at another one, without a lost line',
	NEEDS_BOTH,
	async () => {
		const {hub, box} = await stockExecutorElsewhere();
		const script = `for i in $(seq 1 ${LINES}); do echo $i; read line; done; echo end`;
		const running = await box.start(['sh', '-c', script], {stdin: true, backpressure: true});
		const decoder = new TextDecoder();
		let text = '';
		let answered = 0;
		for await (const piece of running.output()) {
			if (piece.kind !== 'output') throw new Error('a gap');
			text += decoder.decode(piece.bytes, {stream: true});
			for (const seen = text.split('\n').length - 1; answered < Math.min(seen, LINES); answered++) {
				if (answered === LINES / 3) await hub.killExecutorNode();
				await running.write('\n');
			}
		}
		expect(text).toBe(`${Array.from({length: LINES}, (_, index) => `${index + 1}\n`).join('')}end\n`);
		expect(await running.exited).toMatchObject({exitCode: 0});
	},
);

test(
	'a stock client at one node uses longarm serve at another, which is killed in mid-command',
	NEEDS_BOTH,
	async () => {
		expect(await scenariosWith(`exec '${process.execPath}' '${PROGRAM}' serve`)).toEqual(ALL_PASSED);
	},
);

test(
	'a stock client at one node uses a stock executor at another, which is killed in mid-command',
	NEEDS_BOTH,
	async () => {
		expect(await scenariosWith(`exec '${CODEX}' exec-server`)).toEqual(ALL_PASSED);
	},
);
