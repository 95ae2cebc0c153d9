import {expect, test} from 'vitest';
import type {RunOptions} from '../../../src/client/run/run.js';
import {ENVIRONMENTS} from '../../helpers/transports.js';

const machine = ENVIRONMENTS['this machine']!;

test('an unknown option of a command is refused before anything is started', async () => {
	const environment = await machine();
	const typo = {tiemout: 5000} as RunOptions;
	const message = 'unknown option `tiemout` of run(); did you mean `timeout`?';
	await expect(environment.run(['true'], typo)).rejects.toThrow(message);
	await expect(environment.run(['true'], {reject: false, ...typo})).rejects.toThrow(TypeError);
	await expect(environment.start(['true'], {timout: 5} as object)).rejects.toThrow('did you mean `timeout`?');
	await expect(environment.shell('true', {lgoin: true} as object)).rejects.toThrow('did you mean `login`?');
	const process = await environment.start(['true']);
	await expect(environment.communicate(process, {maxbytes: 5} as object)).rejects.toThrow('did you mean `maxBytes`?');
	await expect(environment.waitFor(process, {patern: 'x'} as object)).rejects.toThrow('did you mean `pattern`?');
	await expect(environment.waitFor(process, {exit: true}, {timout: 5} as object)).rejects.toThrow('`timeout`?');
});

test('a time may be text with a unit, and one that cannot be meant is refused', async () => {
	const environment = await machine();
	expect(await environment.run(['/bin/echo', 'there'], {timeout: '1h'})).toMatchObject({reason: 'exit'});
	for (const timeout of ['5', 'soon', -1, Number.NaN]) {
		await expect(environment.run(['true'], {timeout})).rejects.toThrow('option `timeout` of run() must be');
	}
	const process = await environment.start(['/bin/sleep', '1000']);
	await expect(environment.waitFor(process, {exit: true}, {timeout: '5ms'})).rejects.toMatchObject({reason: 'timeout'});
	expect(await environment.waitFor(process, {silence: '5ms'})).toEqual({by: 'silence'});
	await expect(environment.waitFor(process, {silence: 'x'})).rejects.toThrow('option `silence` of waitFor()');
	await process.terminate();
});

test('a command line in place of a list is pointed to the shell', async () => {
	const environment = await machine();
	const line = 'ls -la' as unknown as string[];
	const message = 'argv must be an array of texts, program first; use environment.shell("ls -la")';
	await expect(environment.run(line)).rejects.toThrow(message);
	await expect(environment.start(line)).rejects.toThrow(message);
	await expect(environment.run(['sleep', 5] as never)).rejects.toThrow(
		'argv[1] must be text, not a value of type number',
	);
	await expect(environment.shell(['ls'] as never)).rejects.toThrow('the command line must be text');
});
