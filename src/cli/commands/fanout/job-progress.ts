import {isatty} from 'node:tty';
import type {JobEvent, JobProgress} from '../../../jobs/engine/job-events.js';
import {shortJobId} from '../../../jobs/store/job-directory.js';
import {endRedrawnLine, redrawLine, writeJsonMessage, writeMessage} from '../../common/messages.js';

/** Forms of progress. */
export const PROGRESS_FORMS = ['auto', 'line', 'jsonl', 'none'] as const;
export type ProgressForm = (typeof PROGRESS_FORMS)[number];

const STDERR = 2;
const UNKNOWN_BAR_WIDTH = 20;
const MIN_BAR_WIDTH = 5;
const CUT = '..';

/** Shows on stderr what happens in a job. */
export class JobReporter {
	readonly #form: Exclude<ProgressForm, 'auto'>;
	readonly #isOnTerminal = isatty(STDERR);
	/** The last line is one that is drawn again. */
	#isDrawn = false;

	constructor(form: ProgressForm) {
		this.#form = form === 'auto' ? (this.#isOnTerminal ? 'line' : 'none') : form;
	}

	/** Whether output of items is to be told, too. */
	get wantsOutput(): boolean {
		return this.#form === 'jsonl';
	}

	readonly tell = (event: JobEvent): void => {
		if (this.#form === 'jsonl') writeJsonMessage(event);
		else if (this.#form === 'line' && event.type === 'job.progress') this.#draw(event);
	};

	/** Writes a line for people below the progress. */
	say(text: string): void {
		if (this.#form === 'jsonl') return;
		this.end();
		writeMessage(text);
	}

	/** Leaves the last line where it is. */
	end(): void {
		if (this.#isDrawn) endRedrawnLine();
		this.#isDrawn = false;
	}

	#draw(progress: JobProgress): void {
		if (!this.#isOnTerminal) {
			writeMessage(formatJobLine(progress, undefined));
			return;
		}
		// The last column stays free: some terminals begin a new line when it is filled.
		redrawLine(formatProgress(progress, process.stderr.columns - 1));
		this.#isDrawn = true;
	}
}

/** `[####    ] 50 of 100 done, 1 failed, 8 running, 41 waiting, about 3s left`: without the bar where the width is small. */
export function formatProgress(progress: JobProgress, width: number): string {
	const {total_items: total, completed_items: completed, failed_items: failed, eta_seconds: eta} = progress;
	const parts = [
		`${completed} of ${total} done`,
		...(failed > 0 ? [`${failed} failed`] : []),
		...(progress.running_items > 0 ? [`${progress.running_items} running`] : []),
		...(progress.pending_items > 0 ? [`${progress.pending_items} waiting`] : []),
		...(eta === null || eta === 0 ? [] : [`about ${formatEta(eta)} left`]),
	];
	return withBar('', parts.join(', '), {share: shareOf(progress), width});
}

/** `job de569927 [####    ] 50/100 50% f0 r8 p42 eta 3s`: the bar fills the width, and is left out where that is narrow. */
export function formatJobLine(progress: JobProgress, width: number | undefined): string {
	const {job_id: jobId, total_items: total, completed_items: completed, failed_items: failed} = progress;
	const share = shareOf(progress);
	const tail = `${completed + failed}/${total} ${Math.floor(100 * share)}% f${failed} r${progress.running_items} p${progress.pending_items} eta ${formatEta(progress.eta_seconds)}`;
	return withBar(`job ${shortJobId(jobId)} `, tail, {share, width});
}

/** Share of the items that are over. */
function shareOf({total_items: total, completed_items: completed, failed_items: failed}: JobProgress): number {
	return total === 0 ? 1 : (completed + failed) / total;
}

function withBar(head: string, tail: string, {share, width}: {share: number; width: number | undefined}): string {
	const barWidth = width === undefined ? UNKNOWN_BAR_WIDTH : width - head.length - tail.length - 3;
	if (barWidth >= MIN_BAR_WIDTH) {
		const full = Math.round(share * barWidth);
		return `${head}[${'#'.repeat(full)}${' '.repeat(barWidth - full)}] ${tail}`;
	}
	const line = `${head}${tail}`;
	return width === undefined || line.length <= width ? line : line.slice(0, Math.max(0, width - CUT.length)) + CUT;
}

function formatEta(seconds: number | null): string {
	if (seconds === null) return '--';
	if (seconds === 0) return '0ms';
	if (seconds < 60) return `${seconds}s`;
	const minutes = Math.floor(seconds / 60);
	return minutes < 60 ? `${minutes}m${seconds % 60}s` : `${Math.floor(minutes / 60)}h${minutes % 60}m`;
}
