import type {SearchFinding} from './tree-search.js';

export type SearchMatch = Extract<SearchFinding, {kind: 'entry' | 'line'}>;

export interface SearchError {
	readonly path: Extract<SearchFinding, {kind: 'error'}>['path'];
	readonly message: string;
}

/** Summary of a search that has ended or was cancelled. */
export interface SearchSummary {
	/** Number of files examined. */
	readonly files: number;
	readonly matches: number;
	/** There are more matches than were reported. */
	readonly truncated: boolean;
	readonly errors: readonly SearchError[];
}

/** Message of the worker. Matches come in batches, which the receiver confirms (flow control). */
export type FromWorker =
	| {readonly kind: 'matches'; readonly matches: readonly SearchMatch[]}
	| {readonly kind: 'done'; readonly summary: SearchSummary};

/** Unconfirmed batches; the count is in shared memory, so that the worker can block on it. */
export const MAX_UNCONFIRMED_BATCHES = 4;
