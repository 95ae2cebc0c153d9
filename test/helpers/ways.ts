import {fileURLToPath} from 'node:url';
import {Command} from './command.js';

const PROGRAM = fileURLToPath(new URL('../../dist/bin/longarm.js', import.meta.url));

/** Every kind of place the command line can name, with the arguments that do; servers end with the test. */
export const WAYS: Readonly<Record<string, () => Promise<readonly string[]>>> = {
	'this machine': async () => [],
	WebSocket: async () => ['-e', await new Command(['serve', '--log-level', 'warn']).url()],
	'a command': async () => ['-e', `cmd:${process.execPath} ${PROGRAM} serve --listen stdio`],
};
