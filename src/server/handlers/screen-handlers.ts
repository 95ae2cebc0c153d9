import {noTerminalError} from '../../adapters/process-params.js';
import type {ManagedProcess} from '../../processes/managed-process.js';
import {LogScreenSource} from '../../processes/screen/log-screen-source.js';
import type {ScreenSource} from '../../processes/screen/screen-source.js';
import type {Screens} from '../../processes/screen/screens.js';
import {SpillScreenSource} from '../../processes/screen/spill-screen-source.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';

/** One for all connections: its bounds are those of the machine. Made when a screen is asked for first. */
let screens: Promise<Screens> | undefined;

async function createScreens(): Promise<Screens> {
	const module = await import('../../processes/screen/screens.js');
	return new module.Screens();
}

export const screenHandlers = {
	'process/screen': async ({processId, atSeq, atMs, format}, client) => {
		const process = await client.registry.requireStarted(processId, client);
		const source = toScreenSource(process);
		const controller = new AbortController();
		const unregister = client.lifetime.add(() => controller.abort());
		try {
			const {signal} = controller;
			screens ??= createScreens();
			return await (await screens).render(source, {atSeq: atSeq ?? undefined, atMs: atMs ?? undefined, format, signal});
		} finally {
			unregister();
		}
	},
} satisfies Handlers<ClientConnection>;

/** Output that is in memory only has no times. */
function toScreenSource(process: ManagedProcess): ScreenSource {
	const {terminalSizes, options} = process;
	if (!terminalSizes) throw noTerminalError(process.id);
	if (options.spill) return new SpillScreenSource(process, process.log, options.spill, options.terminalSize!);
	return new LogScreenSource(process, process.log, terminalSizes);
}
