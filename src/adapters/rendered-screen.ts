import type {ManagedProcess} from '../processes/managed-process.js';
import type {ScreenResult} from '../processes/screen/kept-screen.js';
import {LogScreenSource} from '../processes/screen/log-screen-source.js';
import type {ScreenSource} from '../processes/screen/screen-source.js';
import type {Screens} from '../processes/screen/screens.js';
import {SpillScreenSource} from '../processes/screen/spill-screen-source.js';
import type {Params} from '../protocol/methods/method-table.js';
import {noTerminalError} from './process-params.js';

/** One for all clients of this program: its bounds are those of the machine. Made when a screen is asked for first. */
let screens: Promise<Screens> | undefined;

async function createScreens(): Promise<Screens> {
	const module = await import('../processes/screen/screens.js');
	return new module.Screens();
}

/** The screen that `process/screen` asks for. */
export async function renderScreen(
	process: ManagedProcess,
	{atSeq, atMs, format}: Omit<Params<'process/screen'>, 'processId'>,
	signal?: AbortSignal,
): Promise<ScreenResult> {
	const source = toScreenSource(process);
	screens ??= createScreens();
	return (await screens).render(source, {atSeq: atSeq ?? undefined, atMs: atMs ?? undefined, format, signal});
}

/** Output that is in memory only has no times. */
function toScreenSource(process: ManagedProcess): ScreenSource {
	const {terminalSizes, options} = process;
	if (!terminalSizes) throw noTerminalError(process.id);
	if (options.spill) return new SpillScreenSource(process, process.log, options.spill, options.terminalSize!);
	return new LogScreenSource(process, process.log, terminalSizes);
}
