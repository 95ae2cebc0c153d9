import {isatty} from 'node:tty';
import type {CopyFailure, CopyObserver, CopyProgress} from '../../../client/files/copy/copy-context.js';
import type {CopySummary} from '../../../client/files/copy/copy-stats.js';
import type {FileError} from '../../../client/files/file-error.js';
import type {FileLocation} from '../../../client/files/file-location.js';
import type {Files} from '../../../client/files/files.js';
import {describePath, toPathUri} from '../../../client/paths.js';
import type {Environment} from '../../../environments/environment.js';
import {describeLocation, type Location} from '../../common/locations.js';
import {toLine, writeJson, writeMessage} from '../../common/messages.js';
import {printable, printableName, printableReason} from '../../common/printable.js';
import {ProgressLine} from '../../common/progress/progress-line.js';
import {formatBytes, formatCount, formatSeconds} from '../../common/progress/progress-text.js';

export interface ReporterOptions {
	readonly json: boolean;
	readonly quiet: boolean;
	readonly progress: boolean;
}

/** Writes everything the command has to say. Progress and the summary in words are for terminals only. */
export class CopyReporter implements CopyObserver {
	/** Undefined without a progress line: then nothing has to be counted. */
	readonly onProgress: ((progress: CopyProgress) => void) | undefined;
	readonly #options: ReporterOptions;
	readonly #isOnTerminal = isatty(process.stderr.fd);
	readonly #environments = new Map<Files, Environment>();
	readonly #notices = new Set<string>();
	#latest: CopyProgress = {name: '', files: 0, bytes: 0, sentBytes: 0, totalBytes: undefined};
	#line: ProgressLine | undefined;

	constructor(options: ReporterOptions) {
		this.#options = options;
		const showsProgress = options.progress && !options.quiet && this.#isOnTerminal;
		this.onProgress = showsProgress ? progress => (this.#latest = progress) : undefined;
	}

	readonly onFailure = ({location, error}: CopyFailure): void => {
		this.writeLine(`error: ${this.describe(location)}: ${printableReason(error)}`);
	};

	readonly onRetry = (error: FileError): void => {
		this.#writeNotice(`the connection was lost (${printableReason(error)}); going on where it stopped`);
	};

	readonly onFallback = ({files}: FileLocation): void => {
		const id = this.#environments.get(files)?.id ?? '';
		this.#writeNotice(`${printable(id)} cannot resume copies or keep modes; what is interrupted starts again`);
	};

	/** The engine names locations by their files; messages name the environment. */
	learnEnvironments(locations: readonly Location[]): void {
		for (const {files, environment} of locations) this.#environments.set(files, environment);
	}

	describe({files, path}: FileLocation): string {
		const environment = this.#environments.get(files);
		return environment ? describeLocation({environment, files, path: toPathUri(path)}) : describePath(path);
	}

	startProgress(): void {
		if (!this.onProgress) return;
		this.#line = new ProgressLine(process.stderr, () => {
			const {name, files, bytes, sentBytes, totalBytes} = this.#latest;
			const label = printableName(name);
			return {
				label: files > 1 ? `${formatCount(files, 'file')}  ${label}` : label,
				bytes,
				total: totalBytes,
				moved: sentBytes,
			};
		});
	}

	endProgress(): void {
		this.#line?.end();
		this.#line = undefined;
	}

	writeLine(line: string): void {
		if (this.#line) this.#line.writeAbove(`${toLine(line)}\n`);
		else writeMessage(line);
	}

	writeSummary(summary: CopySummary, elapsedMs: number): void {
		if (this.#options.json) {
			const seconds = Math.round(elapsedMs) / 1000;
			writeJson({...summary, seconds});
		} else if (this.#isOnTerminal && !this.#options.quiet) {
			const line = formatSummary(summary, elapsedMs);
			if (line) this.writeLine(line);
		}
	}

	/** Writes each notice once. */
	#writeNotice(text: string): void {
		if (this.#options.quiet || this.#notices.has(text)) return;
		this.#notices.add(text);
		this.writeLine(`note: ${text}`);
	}
}

/** Undefined if there are only failures, which have their own lines. */
function formatSummary(
	{files, bytes, skipped, resumedBytes, failed}: CopySummary,
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
