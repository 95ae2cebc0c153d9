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

	/** Leaves the last line where it is. */
	end(): void {
		if (this.#form === 'line' && this.#isOnTerminal) endRedrawnLine();
	}

	#draw(progress: JobProgress): void {
		if (!this.#isOnTerminal) writeMessage(formatJobLine(progress, undefined));
		// The last column stays free: some terminals begin a new line when it is filled.
		else redrawLine(formatJobLine(progress, process.stderr.columns - 1));
	}
}

/** `job de569927 [####    ] 50/100 50% f0 r8 p42 eta 3s`: the bar fills the width, and is left out where that is narrow. */
export function formatJobLine(progress: JobProgress, width: number | undefined): string {
	const {job_id: jobId, total_items: total, completed_items: completed, failed_items: failed} = progress;
	const done = completed + failed;
	const share = total === 0 ? 1 : done / total;
	const head = `job ${shortJobId(jobId)}`;
	const tail = `${done}/${total} ${Math.floor(100 * share)}% f${failed} r${progress.running_items} p${progress.pending_items} eta ${formatEta(progress.eta_seconds)}`;
	const barWidth = width === undefined ? UNKNOWN_BAR_WIDTH : width - head.length - tail.length - 4;
	if (barWidth >= MIN_BAR_WIDTH) {
		const full = Math.round(share * barWidth);
		return `${head} [${'#'.repeat(full)}${' '.repeat(barWidth - full)}] ${tail}`;
	}
	const line = `${head} ${tail}`;
	return width === undefined || line.length <= width ? line : line.slice(0, Math.max(0, width - CUT.length)) + CUT;
}

function formatEta(seconds: number | null): string {
	if (seconds === null) return '--';
	if (seconds === 0) return '0ms';
	if (seconds < 60) return `${seconds}s`;
	const minutes = Math.floor(seconds / 60);
	return minutes < 60 ? `${minutes}m${seconds % 60}s` : `${Math.floor(minutes / 60)}h${minutes % 60}m`;
}
