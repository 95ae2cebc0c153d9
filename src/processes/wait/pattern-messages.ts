/** Work for the thread, one piece at a time. */
export type ToPatternWorker =
	| {
			readonly kind: 'match';
			readonly pattern: string;
			/** Consecutive output, of several chunks. */
			readonly bytes: Uint8Array;
			/** Where each chunk ends in it. */
			readonly ends: readonly number[];
	  }
	| {
			readonly kind: 'filter';
			readonly pattern: string;
			/** Lines, separated by line feeds. */
			readonly text: string;
	  };

export interface PatternMatch {
	readonly text: string;
	readonly groups: readonly (string | null)[];
	/** Index of the chunk in which the match ends. */
	readonly chunk: number;
}

/** Answer to each piece of work; `failed` when the expression cannot be used. */
export type FromPatternWorker =
	| {readonly kind: 'match'; readonly match: PatternMatch | undefined}
	| {readonly kind: 'filter'; readonly kept: readonly number[]}
	| {readonly kind: 'failed'; readonly message: string};
