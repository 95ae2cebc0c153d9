import type {Child, StdinWriter} from '../../processes/backends/backend.js';
import type {TerminationMode} from '../../processes/termination.js';
import {type ProcessInfo, readProcessInfo} from '../../processes/tree/process-tree.js';
import {encodeWithBytes} from '../../protocol/wire/encode.js';
import {randomHex} from '../../shared/random-id.js';
import type {HeldProcess} from './keeper-methods.js';

const WRITE_ID_BYTES = 8;

/** Asks the keeper of a process; waits while there is no connection, and rejects when there is no keeper any more. */
export type AskKeeper = (method: string, params: object) => Promise<unknown>;

/** A child that a keeper runs. Its output is on disk whatever happens here, so that it is never paused. */
export function createKeptChild({processId, pid, streams, takesInput, tty}: HeldProcess, ask: AskKeeper): Child {
	// The answer tells nothing, and without a keeper there is nothing to signal.
	const tell = (method: string, params: object = {}): void => void ask(method, {processId, ...params}).catch(() => {});
	return {
		pid,
		tag: undefined,
		streams,
		stdin: takesInput ? createKeptStdin(processId, ask) : undefined,
		pause: () => {},
		resume: () => {},
		drainAndClose: () => {},
		signal: name => tell('process/signal', {signal: {name}}),
		resize: tty ? ({rows, columns}) => tell('process/resize', {rows, cols: columns}) : undefined,
		endTree: mode => {
			const survivors = endTree(processId, mode, ask);
			// A caller need not wait for it.
			survivors.catch(() => {});
			return survivors;
		},
	};
}

async function endTree(processId: string, mode: TerminationMode, ask: AskKeeper): Promise<readonly ProcessInfo[]> {
	const wanted = mode.kind === 'force' ? 'force' : {graceful: {timeoutMs: mode.timeoutMs}};
	const {survivors = []} = (await ask('process/terminate', {processId, mode: wanted})) as {
		survivors?: readonly {readonly pid: number}[];
	};
	return survivors.flatMap(({pid}) => readProcessInfo(pid) ?? []);
}

function createKeptStdin(processId: string, ask: AskKeeper): StdinWriter {
	// Each write has an id, so that one that is sent again after the connection was lost does not land twice.
	const prefix = randomHex(WRITE_ID_BYTES);
	let count = 0;
	let isOpen = true;
	let isBroken = false;
	const handleStatus = (answer: unknown): void => {
		isBroken ||= (answer as {status?: unknown}).status !== 'accepted';
	};
	return {
		write: (bytes, done) => {
			const params = encodeWithBytes({processId, chunk: bytes, writeId: `${prefix}-${++count}`, strict: true});
			// A write that fails has no taker any more.
			void ask('process/write', params)
				.then(handleStatus)
				.catch(() => {})
				.finally(() => done());
		},
		isBroken: () => isBroken,
		end: () => {
			if (isOpen) ask('process/closeStdin', {processId}).catch(() => {});
			isOpen = false;
		},
		destroy: () => {
			isOpen = false;
		},
	};
}
