/** The input of a job, or what is to be done with it, cannot be used; no job was created. */
export class JobInputError extends Error {
	override readonly name = 'JobInputError';
}
