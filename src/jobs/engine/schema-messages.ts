/** Work for the thread, one piece at a time: texts of JSON. */
export interface ToSchemaWorker {
	readonly schema: string;
	/** Undefined to compile the schema only. */
	readonly result: string | undefined;
}

/** Answer to each piece of work; `failed` when the schema cannot be used. */
export type FromSchemaWorker =
	| {readonly kind: 'checked'; readonly problem: string | undefined}
	| {readonly kind: 'failed'; readonly message: string};
