/** The environment was closed by its owner. */
export class ClosedError extends Error {
	override readonly name = 'ClosedError';

	constructor() {
		super('the environment is closed');
	}
}
