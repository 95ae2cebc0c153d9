import type {LogReader} from '../../adapters/logged-output.js';
import type {ProcessAsker} from '../../client/process/process-session.js';
import type {ServerDescription} from '../../client/session/connection.js';
import type {ManagedProcess} from '../../processes/managed-process.js';
import {
	METHODS,
	type Params,
	type ParamsOnWire,
	type RequestName,
	type Result,
	type ResultOnWire,
} from '../../protocol/methods/method-table.js';
import {decode} from '../../protocol/wire/decode.js';
import type {JsonParts} from '../../protocol/wire/encode.js';
import type {Lifetime} from '../../shared/async/lifetime.js';
import {LongarmError} from '../../shared/errors.js';
import {toRejectedError} from './rejected-locally.js';

/** Processes that questions are about. */
export interface AskedProcesses {
	/** Throws for one that is not known. */
	require(idOrName: string): ManagedProcess;
	remove(process: ManagedProcess): void;
}

type Asked = 'process/waitFor' | 'process/screen' | 'process/logs' | 'process/remove';

const CAPABILITIES = {processWaitFor: true, processWaitForFlags: true, processScreen: true, processSpill: true};

/** Answers questions about processes of this program as a server does, without a wire. Code is loaded with the first one. */
export class LocalCaller implements ProcessAsker {
	readonly #processes: AskedProcesses;
	/** Ends waits that nobody needs any more. */
	readonly #lifetime: Lifetime;

	constructor(processes: AskedProcesses, lifetime: Lifetime) {
		this.#processes = processes;
		this.#lifetime = lifetime;
	}

	async describe(): Promise<ServerDescription> {
		return {dialect: 'current', info: undefined, capabilities: CAPABILITIES};
	}

	repeat<M extends RequestName>(method: M, params: ParamsOnWire<M> | JsonParts): Promise<Result<M>> {
		return this.call(method, params);
	}

	async call<M extends RequestName>(method: M, params: ParamsOnWire<M> | JsonParts): Promise<Result<M>> {
		const answer = this.#answers[method as Asked] as ((params: unknown) => Promise<unknown>) | undefined;
		if (!answer) throw new LongarmError('NOT_SUPPORTED', {message: `this machine has no ${method} without a server`});
		try {
			return (await answer(decode(METHODS[method].params, params))) as Result<M>;
		} catch (error) {
			throw toRejectedError(error);
		}
	}

	readonly #answers: {readonly [M in Asked]: (params: Params<M>) => Promise<Result<M>>} = {
		'process/waitFor': async params => {
			const process = this.#processes.require(params.processId);
			const {answerWait} = await import('../../adapters/awaited-conditions.js');
			return answerWait(process, params, this.#lifetime, process);
		},
		'process/screen': async params => {
			const process = this.#processes.require(params.processId);
			const {renderScreen} = await import('../../adapters/rendered-screen.js');
			return renderScreen(process, params);
		},
		'process/logs': async params => {
			const process = this.#processes.require(params.processId);
			const {describeLoggedPage, readLoggedPage} = await import('../../adapters/logged-output.js');
			const reader: LogReader = {lifetime: this.#lifetime, account: process, reserve: (_bytes, make) => make()};
			return copyBytes(describeLoggedPage(process, await readLoggedPage(process, params, reader)));
		},
		'process/remove': async ({processId}) => {
			const process = this.#processes.require(processId);
			const {requireEnded} = await import('../../adapters/logged-output.js');
			requireEnded(process);
			this.#processes.remove(process);
			return {};
		},
	};
}

/** The log reuses the memory of its chunks. */
function copyBytes(page: ResultOnWire<'process/logs'>): Result<'process/logs'> {
	return {
		...page,
		chunks: page.chunks.map(chunk => ({...chunk, chunk: new Uint8Array(chunk.chunk as Uint8Array)})),
	} as Result<'process/logs'>;
}
