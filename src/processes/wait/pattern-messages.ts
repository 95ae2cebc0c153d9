/** Work for the thread, one piece at a time. */
export type ToPatternWorker =
	| {
			readonly kind: 'match';
			readonly pattern: string;
			readonly flags: string;
			/** Consecutive output. */
			readonly bytes: Uint8Array;
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
	/** Characters in front of the match, and bytes up to its end. */
	readonly index: number;
	readonly end: number;
}

/** Answer to each piece of work; `failed` when the expression cannot be used. */
export type FromPatternWorker =
	| {readonly kind: 'match'; readonly match: PatternMatch | undefined}
	| {readonly kind: 'filter'; readonly kept: readonly number[]}
	| {readonly kind: 'failed'; readonly message: string};
