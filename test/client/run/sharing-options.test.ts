import {expect, test} from 'vitest';
import {type RunCommandOptions, toStartParams} from '../../../src/client/run/command.js';
import {run} from '../../../src/client/run/run.js';
import type {EnvironmentInfo} from '../../../src/protocol/methods/environment-methods.js';
import {SHARING} from '../scripted-sessions.js';

function host(capabilities: Readonly<Record<string, boolean>> = SHARING) {
	const info = {shell: {name: 'sh', path: '/bin/sh'}, capabilities} as unknown as EnvironmentInfo;
	return {info: async () => info};
}

const params = (options: RunCommandOptions, capabilities?: Readonly<Record<string, boolean>>) =>
	toStartParams(host(capabilities), ['x'], options);

test('options for other clients and for the time after this one become members of the start', async () => {
	const named = await params({name: 'build', labels: {team: 'web'}, share: {observe: 'any'}, durable: true});
	expect(named).toMatchObject({name: 'build', labels: {team: 'web'}, share: {observe: 'any'}, durable: true});
	expect(await params({spill: true, record: true})).toMatchObject({spill: {}, record: {}});
	const spill = {maxBytes: 5, onFull: 'dropOldest'} as const;
	expect(await params({spill, record: {input: true}})).toMatchObject({spill, record: {input: true}});
	expect(await params({detach: true})).toMatchObject({onDisconnect: 'keep', spill: {}});
	expect(await params({detach: true, spill})).toMatchObject({onDisconnect: 'keep', spill});
});

test('without such options a start is what it was', async () => {
	const plain = Object.keys(await params({}, {}));
	expect(Object.keys(await params({detach: false, durable: false, spill: false, record: false}, {}))).toEqual(plain);
});

test.each<[keyof RunCommandOptions, RunCommandOptions, string]>([
	['name', {name: 'x'}, 'processAttach'],
	['labels', {labels: {a: 'b'}}, 'processAttach'],
	['share', {share: {drive: 'any'}}, 'processShare'],
	['spill', {spill: true}, 'processSpill'],
	['durable', {durable: true}, 'processDurable'],
	['record', {record: true}, 'processRecord'],
	['detach', {detach: true}, 'processAttach'],
])('an executor that does not know %s starts nothing', async (name, options, capability) => {
	const without = {...SHARING, [capability]: false};
	const refused = {code: 'NOT_SUPPORTED', message: `this executor has no ${name} (${capability})`};
	await expect(params(options, without)).rejects.toMatchObject(refused);
});

test('values that cannot be meant are refused with the name of the option', async () => {
	const wrong: [object, string][] = [
		[{share: {watch: 'any'}}, 'unknown option `watch` of share'],
		[{share: {observe: 'all'}}, "`observe` of option `share` must be 'owner' or 'any'"],
		[{spill: 5}, 'option `spill` must be'],
		[{spill: {maxBytes: 0}}, '`maxBytes` of option `spill`'],
		[{spill: {onFull: 'drop'}}, '`onFull` of option `spill`'],
		[{record: 'all'}, 'option `record` must be'],
		[{record: {input: 1}}, '`input` of option `record`'],
		[{labels: {a: 1}}, 'label `a` must be text'],
		[{detach: true, onDisconnect: 'endAtOnce'}, 'exclude each other'],
	];
	const processes = {start: () => Promise.reject(new Error('something was started'))};
	for (const [options, message] of wrong) {
		await expect(params(options as RunCommandOptions)).rejects.toThrow(message);
		await expect(run({...host(), processes}, ['x'], {reject: false, ...options})).rejects.toThrow(message);
	}
	await expect(run({...host(), processes}, ['x'], {name: 5} as object)).rejects.toThrow('option `name` of run()');
});
