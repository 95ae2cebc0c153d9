import type {ProcessHandle, StartOptions} from '../../../../client/process/process-handle.js';
import {type RunCommandOptions, toStartParams} from '../../../../client/run/command.js';
import type {ProcessPlace} from '../../../../environments/process-place.js';
import {LOCAL} from '../../../common/address.js';

/** A machine that runs commands. Less of it is loaded than of an environment: a command is often over in no time. */
export class Executor {
	readonly id: string;
	readonly #place: ProcessPlace;

	/** The one somebody named: this machine when nothing was said. */
	static async open(given = LOCAL): Promise<Executor> {
		return new Executor(given, await placeOf(given));
	}

	private constructor(id: string, place: ProcessPlace) {
		this.id = id;
		this.#place = place;
	}

	get isLocal(): boolean {
		return this.id === LOCAL;
	}

	async start(
		argv: readonly string[],
		{signal, holdsBack, ...command}: RunCommandOptions & StartOptions,
	): Promise<ProcessHandle> {
		const params = await toStartParams(this.#place, argv, command);
		return (await this.#place.processes.start(params, {signal, holdsBack})).process;
	}

	info(): ReturnType<ProcessPlace['info']> {
		return this.#place.info();
	}

	onDisconnect(listener: Parameters<ProcessPlace['onDisconnect']>[0]): () => void {
		return this.#place.onDisconnect(listener);
	}

	/** Whether there is a directory, as far as can be found out. */
	async hasDirectory(path: string): Promise<boolean> {
		try {
			return (await (await this.#place.loadFiles()).metadata(path)).isDirectory;
		} catch {
			return false;
		}
	}

	close(): Promise<void> {
		return this.#place.close();
	}
}

async function placeOf(given: string): Promise<ProcessPlace> {
	if (given === LOCAL) {
		const {LocalProcessPlace} = await import('../../../../environments/local/local-process-place.js');
		return new LocalProcessPlace(process.env);
	}
	const {resolveTarget} = await import('../../../common/resolve-target.js');
	const {RemoteProcessPlace} = await import('../../../../environments/remote/remote-process-place.js');
	return new RemoteProcessPlace(await resolveTarget(given));
}
