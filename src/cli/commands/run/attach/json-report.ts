import {constants} from 'node:os';
import type {OutputStream} from '../../../../client/process/process-handle.js';
import {HeadTailBuffer} from '../../../../shared/head-tail-buffer.js';
import {toSafeJson} from '../../../../shared/safe-json.js';
import {BrokenPipeError, writeOut} from '../../../common/stdout.js';
import {type MarkedOutput, toOutputMembers} from './output-members.js';
import {OutputWriter, type RunOutcome} from './output-writer.js';

/** Bytes kept of each stream, half of its beginning and half of its end. */
export const MAX_REPORTED_BYTES = 1024 * 1024;
const SIGNAL_BASE = 128;

/** Collects the output of a process, and writes it with its outcome as one JSON object; messages go to standard error. */
export class JsonReport extends OutputWriter {
	readonly #stdout = new HeadTailBuffer(MAX_REPORTED_BYTES);
	readonly #stderr = new HeadTailBuffer(MAX_REPORTED_BYTES);
	readonly #startedAt = performance.now();
	readonly #member: Promise<string> | undefined;
	#hasUnknownGap = false;

	/** `member` is the machine that a hub has chosen. */
	constructor(member?: Promise<string>) {
		super();
		this.#member = member;
	}

	override write(stream: OutputStream, bytes: Uint8Array): undefined {
		(stream === 'stderr' ? this.#stderr : this.#stdout).push(bytes);
	}

	/** Gaps do not name their stream; they are counted for standard output. */
	override skip(bytes: number | undefined): void {
		if (bytes === undefined) this.#hasUnknownGap = true;
		else this.#stdout.skip(bytes);
	}

	override async report({exitCode, reason, error}: RunOutcome): Promise<void> {
		const [out, err] = [this.#stdout, this.#stderr];
		// Nothing was chosen for a command that was not started.
		const environment = await this.#member?.catch(() => undefined);
		const text = toSafeJson({
			exitCode: exitCode ?? null,
			reason,
			...(environment !== undefined && {environment}),
			...(reason === 'signal' && {signal: nameSignal(exitCode)}),
			...(error !== undefined && {error}),
			...toOutputMembers('stdout', toMarked(out)),
			...toOutputMembers('stderr', toMarked(err)),
			truncated: out.omitted > 0 || err.omitted > 0 || this.#hasUnknownGap,
			durationMs: Math.round(performance.now() - this.#startedAt),
		});
		try {
			await writeOut(`${text}\n`);
		} catch (failure) {
			// A reader that has left wants no report.
			if (!(failure instanceof BrokenPipeError)) throw failure;
		}
	}
}

function toMarked(buffer: HeadTailBuffer): MarkedOutput {
	return {markedBytes: buffer.markedBytes(), totalBytes: buffer.total, omittedBytes: buffer.omitted};
}

/** Name of the signal that ended a process, from its exit code; null if it is not known. */
function nameSignal(exitCode: number | undefined): string | null {
	const number = (exitCode ?? 0) - SIGNAL_BASE;
	return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? null;
}
