import type {SearchFinding} from './tree-search.js';

export type SearchMatch = Extract<SearchFinding, {kind: 'entry' | 'line'}>;

export interface SearchError {
	readonly path: Extract<SearchFinding, {kind: 'error'}>['path'];
	readonly message: string;
}

/** What has been done, when a search is over or has been given up. */
export interface SearchSummary {
	/** Files looked at. */
	readonly files: number;
	readonly matches: number;
	/** There is more than was told. */
	readonly truncated: boolean;
	readonly errors: readonly SearchError[];
}

/** What the thread tells. Matches come in batches; each has to be confirmed before too many are on their way. */
export type FromWorker =
	| {readonly kind: 'matches'; readonly matches: readonly SearchMatch[]}
	| {readonly kind: 'done'; readonly summary: SearchSummary};

/** Batches that may wait to be confirmed; the count is kept in shared memory, where the thread can wait for it. */
export const MAX_UNCONFIRMED_BATCHES = 4;
