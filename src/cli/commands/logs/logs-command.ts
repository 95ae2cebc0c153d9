import {isatty} from 'node:tty';
import type {OutputStream} from '../../../client/process/process-handle.js';
import type {LogEntry, LogOptions} from '../../../client/process/shared-process.js';
import {InterruptedError, Interruption} from '../../common/interruption.js';
import {toLine} from '../../common/messages.js';
import {type ProcessPlace, withProcess} from '../../common/processes/open-process.js';
import {parseRegex, parseWholeNumber} from '../../common/processes/option-values.js';
import {parseMoment} from '../../common/times.js';
import {EXIT, usageError} from '../../exit-codes.js';
import {describeBytes, MissingOutput} from '../run/attach/missing-output.js';
import {type BrokenStream, OutputWriter, STDOUT} from '../run/attach/output-writer.js';
import {TimedLines} from './timed-lines.js';

export interface LogsRequest extends ProcessPlace {
	readonly follow: boolean;
	readonly since: string | undefined;
	readonly tail: string | undefined;
	readonly grep: string | undefined;
	readonly timestamps: boolean;
	readonly stream: string | undefined;
}

const STREAMS: readonly OutputStream[] = ['stdout', 'stderr', 'pty'];

/** Writes the output of a process to our own streams. */
export function logs(id: string, request: LogsRequest): Promise<number> {
	const options = toLogOptions(request);
	return withProcess(id, request, async ({environment, reference}) => {
		using interruption = new Interruption();
		const process = await environment.processes.reference(reference);
		const entries = process.logs({...options, signal: interruption.signal});
		// The listener for Ctrl-C is there until then.
		return await new LogWriter(request.timestamps).run(entries);
	});
}

function toLogOptions({follow, since, tail, grep, stream}: LogsRequest): LogOptions {
	if (since !== undefined && tail !== undefined) throw usageError('--since and --tail exclude each other');
	return {
		follow,
		...(since !== undefined && {since: toSince(since)}),
		...(tail !== undefined && {tail: parseWholeNumber('--tail', tail)}),
		...(grep !== undefined && {grep: parseRegex('--grep', grep)}),
		...(stream !== undefined && {stream: requireStream(stream)}),
	};
}

function toSince(text: string): Date | number {
	const moment = parseMoment('--since', text);
	if (moment.kind === 'afterStart') throw usageError(`--since ${text}: expected a date, or a time such as 10m`);
	return moment.kind === 'date' ? new Date(moment.ms) : moment.ms;
}

function requireStream(text: string): OutputStream {
	const stream = STREAMS.find(name => name === text);
	if (stream === undefined) throw usageError(`--stream ${text}: expected one of ${STREAMS.join(', ')}`);
	return stream;
}

class LogWriter {
	readonly #writer = new OutputWriter();
	readonly #missing = new MissingOutput();
	readonly #lines: TimedLines | undefined;

	constructor(hasTimes: boolean) {
		this.#lines = hasTimes ? new TimedLines({isForTerminal: isatty(STDOUT)}) : undefined;
	}

	async run(entries: AsyncIterableIterator<LogEntry>): Promise<number> {
		const broken = this.#writer.broken.then(stream => this.#reportBroken(stream));
		const code = await Promise.race([this.#copy(entries), broken]);
		// Without this, one that follows would go on asking.
		void entries.return?.();
		return code;
	}

	async #copy(entries: AsyncIterableIterator<LogEntry>): Promise<number> {
		try {
			for await (const entry of entries) await this.#take(entry);
		} catch (error) {
			if (!(error instanceof InterruptedError)) throw error;
			await this.#finish();
			return error.exitCode;
		}
		await this.#finish();
		// On a terminal the line at the gap is seen; a program that reads our output has only the exit code.
		return this.#missing.isSome && !isatty(STDOUT) ? EXIT.notRun : EXIT.ok;
	}

	#take(entry: LogEntry): Promise<void> | undefined {
		if (entry.kind === 'output') {
			const {stream, ms, bytes} = entry;
			return this.#writer.write(stream, this.#lines ? this.#lines.add(stream, ms, bytes) : bytes);
		}
		this.#missing.add(entry.missedBytes);
		this.#say(`${describeBytes(entry.missedBytes)} of output are missing here`);
		return undefined;
	}

	async #finish(): Promise<void> {
		for (const [stream, bytes] of this.#lines?.finish() ?? []) void this.#writer.write(stream, bytes);
		await this.#writer.flush();
	}

	async #reportBroken({stream, error}: BrokenStream): Promise<number> {
		if (error.code === 'EPIPE') return EXIT.brokenPipe;
		this.#say(`${stream}: ${error.message}`);
		return EXIT.failed;
	}

	#say(text: string): void {
		this.#writer.say(`longarm: ${toLine(text)}\n`);
	}
}
