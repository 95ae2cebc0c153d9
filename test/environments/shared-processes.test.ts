// covers: src/client/session/catch-up.ts, src/client/session/attach-process.ts, against a real server
import {expect, onTestFinished, test} from 'vitest';
import {Environment} from '../../src/environments/environment.js';
import {Cuttable} from '../helpers/cuttable.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {serving} from '../helpers/serving.js';

const BLOCKS = 100;
const BLOCK_BYTES = 64_000;
const SCRIPT = `read line; i=0; while [ $i -lt ${BLOCKS} ]; do printf "%0${BLOCK_BYTES}d" $i; i=$((i+1)); done; exit 9`;

function expected(): string {
	return Array.from({length: BLOCKS}, (_, index) => String(index).padStart(BLOCK_BYTES, '0')).join('');
}

async function machine(url: string, name: string): Promise<Environment> {
	const environment = Environment.remote(name, {kind: 'websocket', url});
	onTestFinished(() => environment.close());
	return environment;
}

test('a client whose link was cut gets all of the output that is on disk, more than memory holds', async () => {
	const {url} = await serving({stateDirectory: scratchDirectory()});
	const line = await Cuttable.to(url);
	const environment = await machine(line.url, 'cut');
	const process = await environment.start(['sh', '-c', SCRIPT], {spill: true, stdin: true});
	const direct = await machine(url, 'direct');
	const other = await direct.processes.attach(process.processId, {role: 'observe'});
	await process.write('go\n');
	line.isOpen = false;
	line.cut();
	await other.closed;
	line.isOpen = true;
	let text = '';
	for await (const piece of process.output()) {
		expect(piece.kind).toBe('output');
		if (piece.kind === 'output') text += new TextDecoder().decode(piece.bytes);
	}
	expect(text === expected()).toBe(true);
	expect(await process.exited).toMatchObject({exitCode: 9});
});

test('a person takes over the process of an agent, whose next write is refused, and gives it back', async () => {
	const {url} = await serving();
	const [agent, person] = [await machine(url, 'agent'), await machine(url, 'person')];
	const own = await agent.start(['sh', '-c', 'while read line; do echo "got $line"; done'], {name: 'job', stdin: true});
	const taken = await person.processes.attach('job', {role: 'drive', takeover: true});
	await expect(own.write('refused\n')).rejects.toThrow('is not driven by this client');
	await taken.write('person\n');
	await taken.waitFor({pattern: 'got person'});
	await taken.giveBack();
	expect(taken.role).toBe('observe');
	await own.takeOver();
	await own.write('agent\n');
	await taken.waitFor({pattern: 'got agent'});
	const {match} = await own.waitFor({pattern: /got (\w+)\s+got agent/});
	expect(match[1]).toBe('person');
	await own.terminate();
});
