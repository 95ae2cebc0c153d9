import {setTimeout as delay} from 'node:timers/promises';
import {isatty} from 'node:tty';
import {onAbort} from '../../../shared/async/on-abort.js';
import type {Address} from '../../common/address.js';
import {InterruptedError, Interruption} from '../../common/interruption.js';
import {LocationResolver} from '../../common/locations.js';
import {formatBytes, formatCount, formatSeconds} from '../../common/progress/format.js';
import {ProgressLine} from '../../common/progress/progress-line.js';
import type {CopyContext} from './copy-context.js';
import {type CopyTask, planCopies} from './copy-plan.js';
import {CopyStats} from './copy-stats.js';
import {countBytes} from './count.js';
import {runTasks} from './run-tasks.js';

export interface CopyOptions {
	/** The value of `-e`. */
	readonly environment: string | undefined;
	readonly recursive: boolean;
	readonly noClobber: boolean;
	readonly json: boolean;
	readonly quiet: boolean;
	readonly progress: boolean;
}

/** How long the parts of an interrupted copy are waited for. */
const GRACE_MS = 500;

/** Copies the sources to the target; the exit code. */
export async function copy(sources: readonly Address[], target: Address, options: CopyOptions): Promise<number> {
	using interruption = new Interruption();
	await using places = new LocationResolver(options.environment);
	const {signal} = interruption;
	const voice = new CopyReporter(options);
	const stats = new CopyStats(line => voice.say(line));
	const context: CopyContext = {signal, stats, noClobber: options.noClobber, note: text => voice.note(text)};
	const startedAt = performance.now();
	try {
		const from = await Promise.all(sources.map(address => places.find(address)));
		const tasks = await planCopies(from, await places.find(target), options, context);
		voice.follow(stats, tasks, signal);
		await orAborted(signal, runTasks(tasks, context));
	} catch (error) {
		voice.end();
		if (!(error instanceof InterruptedError) && !signal.aborted) throw error;
		voice.say('interrupted: the same command goes on where this one stopped');
		return (signal.reason as InterruptedError).exitCode;
	}
	voice.end();
	voice.sum(stats, performance.now() - startedAt);
	return stats.summary.failed > 0 ? 1 : 0;
}

/** After an interruption the work is given some time to end by itself; a line that is dead never would. */
async function orAborted(signal: AbortSignal, work: Promise<void>): Promise<void> {
	const over = new AbortController();
	const givenUp = new Promise<void>(resolve => {
		const stopListening = onAbort(signal, () => {
			void delay(GRACE_MS, undefined, {signal: over.signal}).then(resolve, () => {});
		});
		over.signal.addEventListener('abort', stopListening);
	});
	try {
		await Promise.race([work, givenUp]);
		signal.throwIfAborted();
	} finally {
		over.abort();
	}
}

/** Everything the command says. Progress and a last line are for terminals only. */
class CopyReporter {
	readonly #options: CopyOptions;
	readonly #said = new Set<string>();
	readonly #isOnTerminal = isatty(process.stderr.fd);
	readonly #counting = new AbortController();
	#progress: ProgressLine | undefined;

	constructor(options: CopyOptions) {
		this.#options = options;
	}

	follow(stats: CopyStats, tasks: readonly CopyTask[], signal: AbortSignal): void {
		const {quiet, progress} = this.#options;
		if (quiet || !progress || !this.#isOnTerminal) return;
		this.#progress = new ProgressLine(process.stderr, () => ({
			label: stats.files > 1 ? `${formatCount(stats.files, 'file')}  ${stats.label}` : stats.label,
			bytes: stats.reached,
			total: stats.total,
			moved: stats.moved,
		}));
		const counting = countBytes(tasks, AbortSignal.any([signal, this.#counting.signal]));
		// Without a count the line has no percentage; why it failed is told by the copy itself.
		counting.then(total => (stats.total = total)).catch(() => {});
	}

	say(line: string): void {
		if (this.#progress) this.#progress.say(`${line}\n`);
		else process.stderr.write(`${line}\n`);
	}

	note(text: string): void {
		if (this.#options.quiet || this.#said.has(text)) return;
		this.#said.add(text);
		this.say(`note: ${text}`);
	}

	end(): void {
		this.#counting.abort();
		this.#progress?.end();
		this.#progress = undefined;
	}

	sum(stats: CopyStats, elapsedMs: number): void {
		const {summary} = stats;
		if (this.#options.json) {
			const seconds = Math.round(elapsedMs) / 1000;
			process.stdout.write(`${JSON.stringify({...summary, seconds})}\n`);
		} else if (this.#isOnTerminal && !this.#options.quiet) {
			const line = sentence(summary, elapsedMs);
			if (line) this.say(line);
		}
	}
}

/** Undefined when there is nothing to tell but failures, which were told. */
function sentence(
	{files, bytes, skipped, resumedBytes, failed}: CopyStats['summary'],
	elapsedMs: number,
): string | undefined {
	const rate = `${formatBytes(bytes / Math.max(elapsedMs / 1000, 0.001))}/s`;
	const copied = `copied ${formatCount(files, 'file')}, ${formatBytes(bytes)} in ${formatSeconds(elapsedMs)} (${rate})`;
	const parts = [
		...(files > 0 ? [copied] : []),
		...(resumedBytes > 0 ? [`went on behind ${formatBytes(resumedBytes)}`] : []),
		...(skipped > 0 ? [`${formatCount(skipped, 'file')} there already`] : []),
		...(failed > 0 && files + skipped > 0 ? [`${failed} failed`] : []),
	];
	return parts.length === 0 ? undefined : parts.join('; ');
}
