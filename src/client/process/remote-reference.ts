import type {WaitCondition, WaitOptions, WaitResultOf} from '../run/wait-for.js';
import type {UnattachedProcess} from './process-handle.js';
import {fetchLogPage, readLogs} from './process-logs.js';
import {readRecording} from './process-recording.js';
import type {ProcessAsker} from './process-session.js';
import {fetchScreen, requestRemoval, requestShare, requestShares, requestUnshare} from './remote-sharing.js';
import type {
	ListedShare,
	LogEntry,
	LoggedPage,
	LoggedPageOptions,
	LogOptions,
	ProcessShare,
	RecordingEntry,
	Screen,
	ScreenOptions,
	ShareOptions,
} from './shared-process.js';

/** A process behind a server by its id or name, without its events. */
export class RemoteReference implements UnattachedProcess {
	/** Id or name: the server takes both for these questions. */
	readonly processId: string;
	readonly #session: ProcessAsker;

	constructor(idOrName: string, session: ProcessAsker) {
		this.processId = idOrName;
		this.#session = session;
	}

	async waitFor<K extends keyof WaitCondition>(
		condition: Pick<WaitCondition, K>,
		options?: WaitOptions,
	): Promise<WaitResultOf<K>> {
		const {waitByReference} = await import('./server-wait.js');
		return waitByReference(this.processId, this.#session, condition, options);
	}

	screen(options: ScreenOptions = {}): Promise<Screen> {
		return fetchScreen(this.#session, this.processId, options);
	}

	logs(options?: LogOptions): AsyncIterableIterator<LogEntry> {
		return readLogs(this, this.#session, options);
	}

	logPage(options?: LoggedPageOptions): Promise<LoggedPage> {
		return fetchLogPage(this, this.#session, options);
	}

	recording(options?: {readonly signal?: AbortSignal | undefined}): AsyncIterableIterator<RecordingEntry> {
		return readRecording(this, this.#session, options);
	}

	share(options: ShareOptions = {}): Promise<ProcessShare> {
		return requestShare(this.#session, this.processId, options);
	}

	shares(): Promise<ListedShare[]> {
		return requestShares(this.#session, this.processId);
	}

	unshare(shareId: string): Promise<boolean> {
		return requestUnshare(this.#session, shareId);
	}

	remove(): Promise<void> {
		return requestRemoval(this.#session, this.processId);
	}
}
