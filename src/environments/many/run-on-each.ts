import {createHash, type Hash} from 'node:crypto';
import type {Output} from '../../client/process/process-handle.js';
import type {Collected} from '../../client/run/collector.js';
import {RUN_OPTIONS, type RunOptions} from '../../client/run/run.js';
import {type RunResult} from '../../client/run/run-result.js';
import {readOptions} from '../../shared/call-options.js';
import {errorMessage} from '../../shared/errors.js';
import type {Environment} from '../environment.js';
import {isFailure, type MachineOutcome, type SkipReason, toOutcome} from './machine-outcome.js';

/** Machines on which the command runs at the same time, unless the caller says otherwise. */
export const DEFAULT_PARALLEL = 16;
export const MAX_PARALLEL = 256;
/** Bytes kept of each stream of each machine: half of its beginning, half of its end. */
export const DEFAULT_KEPT_BYTES = 64 * 1024;

/** A machine to run a command on. An `Environment` is one; another may connect when it is asked. */
export interface Machine extends Pick<Environment, 'run' | 'shell'> {
	readonly id: string;
}

/** Options of `runOnEach`; those of a single run hold for each machine. */
export interface RunOnEachOptions extends Omit<RunOptions, 'reject' | 'onOutput' | 'onStdout' | 'onStderr' | 'input'> {
	/** The same input for every machine. */
	readonly input?: string | Uint8Array | undefined;
	/** Machines at the same time; 16 by default, 256 at most. */
	readonly parallel?: number | undefined;
	/** The first so many machines run alone; the others only if the command exits with 0 on all of these. */
	readonly canary?: number | undefined;
	/** No more machines are begun with after so many failures. */
	readonly stopAfter?: number | undefined;
	readonly onStart?: ((id: string) => void) | undefined;
	/** The command waits while a promise of it is pending. */
	readonly onOutput?: ((id: string, output: Output) => void | Promise<void>) | undefined;
	readonly onResult?: ((result: MachineResult) => void) | undefined;
}

/** Output of one stream, as far as it is kept. */
export type MachineOutput = Pick<Collected, 'bytes' | 'markedBytes' | 'text' | 'totalBytes' | 'omittedBytes'>;

/** Outcome and output of the command on one machine. */
export interface MachineResult {
	readonly id: string;
	readonly outcome: MachineOutcome;
	/** Head and tail. On a terminal, both streams. */
	readonly stdout: MachineOutput;
	readonly stderr: MachineOutput;
	/** Of all output, also of the part that was not kept: equal digests are equal outputs. */
	readonly digest: string;
	readonly durationMs: number;
}

/**
 * Runs the same command on many machines, a few at a time, and settles with one result per machine, in the order given. A
 * text is a command line for the shell of each machine. Rejects only for wrong options.
 */
export async function runOnEach(
	machines: readonly Machine[],
	command: readonly string[] | string,
	options: RunOnEachOptions = {},
): Promise<MachineResult[]> {
	const parallel = readCount('parallel', options.parallel ?? DEFAULT_PARALLEL, MAX_PARALLEL);
	const canary = options.canary === undefined ? 0 : readCount('canary', options.canary);
	const round = new Round(machines, command, options);
	await round.run(0, canary, parallel);
	if (canary > 0 && round.failures > 0) round.skipRest('canary');
	await round.run(canary, machines.length, parallel);
	return round.results;
}

/** One command on its way over the machines. */
class Round {
	readonly results: MachineResult[] = [];
	readonly #machines: readonly Machine[];
	readonly #command: readonly string[] | string;
	readonly #options: RunOnEachOptions;
	readonly #runOptions: RunOptions;
	readonly #stopAfter: number;
	/** Ends what runs when a listener of the caller fails. */
	readonly #stop = new AbortController();
	#failures = 0;
	#skipReason: SkipReason | undefined;

	constructor(machines: readonly Machine[], command: readonly string[] | string, options: RunOnEachOptions) {
		const {parallel: _parallel, canary: _canary, stopAfter, onStart: _onStart, onResult: _onResult, ...rest} = options;
		const {onOutput: _onOutput, signal, ...given} = rest;
		this.#machines = machines;
		this.#command = command;
		this.#options = options;
		this.#stopAfter = stopAfter === undefined ? Infinity : readCount('stopAfter', stopAfter);
		this.#runOptions = {
			maxBytes: DEFAULT_KEPT_BYTES,
			...given,
			reject: false,
			signal: signal ? AbortSignal.any([signal, this.#stop.signal]) : this.#stop.signal,
		};
		readOptions<RunOptions>(this.#runOptions, RUN_OPTIONS, 'runOnEach()');
	}

	/** Machines that were tried without success. */
	get failures(): number {
		return this.#failures;
	}

	/** Nothing more is asked of machines that were not begun with. */
	skipRest(reason: SkipReason): void {
		this.#skipReason ??= reason;
	}

	async run(from: number, to: number, parallel: number): Promise<void> {
		const end = Math.min(to, this.#machines.length);
		let next = from;
		const work = async (): Promise<void> => {
			while (next < end) await this.#runOne(next++);
		};
		await Promise.all(Array.from({length: Math.min(parallel, Math.max(0, end - from))}, work));
	}

	async #runOne(place: number): Promise<void> {
		const machine = this.#machines[place]!;
		if (this.#runOptions.signal?.aborted) this.skipRest('aborted');
		try {
			const result = this.#skipReason
				? withoutOutput(machine.id, {kind: 'skipped', reason: this.#skipReason})
				: await this.#attempt(machine);
			this.results[place] = result;
			if (isFailure(result.outcome) && ++this.#failures >= this.#stopAfter) this.skipRest('failures');
			this.#options.onResult?.(result);
		} catch (error) {
			this.#stop.abort();
			throw error;
		}
	}

	/** Rejects only with the error of a listener; everything else is an outcome. */
	async #attempt(machine: Machine): Promise<MachineResult> {
		const {id} = machine;
		const {onStart, onOutput} = this.#options;
		const startedAt = performance.now();
		const digest = new OutputDigest();
		let ownFailure: {readonly error: unknown} | undefined;
		const options: RunOptions = {
			...this.#runOptions,
			onOutput: async output => {
				digest.add(output);
				try {
					await onOutput?.(id, output);
				} catch (error) {
					ownFailure = {error};
					throw error;
				}
			},
		};
		onStart?.(id);
		try {
			const result = await runOn(machine, this.#command, options);
			const {stdout, stderr, durationMs} = result;
			return {id, outcome: toOutcome(result), stdout, stderr, digest: digest.toString(), durationMs};
		} catch (error) {
			if (ownFailure) throw ownFailure.error;
			const outcome = {kind: 'lost', message: errorMessage(error)} as const;
			return {...withoutOutput(id, outcome), durationMs: performance.now() - startedAt};
		}
	}
}

function runOn(machine: Machine, command: readonly string[] | string, options: RunOptions): Promise<RunResult> {
	return typeof command === 'string' ? machine.shell(command, options) : machine.run(command, options);
}

/** Digest of both streams, each by itself: how they are mixed differs from run to run. */
class OutputDigest {
	readonly #hashes: Record<'stdout' | 'stderr', Hash> = {stdout: createHash('sha256'), stderr: createHash('sha256')};
	#gaps = 0;

	add(output: Output): void {
		if (output.kind === 'gap') this.#gaps++;
		else this.#hashes[output.stream === 'stderr' ? 'stderr' : 'stdout'].update(output.bytes);
	}

	/** Output with gaps equals none: the missing bytes are not known. */
	toString(): string {
		const {stdout, stderr} = this.#hashes;
		const unknown = this.#gaps > 0 ? [globalThis.crypto.randomUUID()] : [];
		return [stdout.digest('base64'), stderr.digest('base64'), ...unknown].join(' ');
	}
}

function withoutOutput(id: string, outcome: MachineOutcome): MachineResult {
	return {id, outcome, stdout: NO_OUTPUT, stderr: NO_OUTPUT, digest: new OutputDigest().toString(), durationMs: 0};
}

const NO_OUTPUT: MachineOutput = {
	bytes: new Uint8Array(),
	markedBytes: new Uint8Array(),
	text: '',
	totalBytes: 0,
	omittedBytes: 0,
};

function readCount(name: string, value: number, max = Number.MAX_SAFE_INTEGER): number {
	if (Number.isSafeInteger(value) && value >= 1 && value <= max) return value;
	const range = max === Number.MAX_SAFE_INTEGER ? 'above 0' : `from 1 to ${max}`;
	throw new RangeError(`option \`${name}\` of runOnEach() must be a whole number ${range}`);
}
