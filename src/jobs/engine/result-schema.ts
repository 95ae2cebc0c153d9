import {errorMessage} from '../../shared/errors.js';
import {JobInputError} from '../input/job-input-error.js';

/** Says what is wrong with a result; undefined if nothing is. */
export type ResultCheck = (result: object) => string | undefined;

/** A check of results against a JSON Schema: 2020-12, or draft 7 if the schema says so. Throws a `JobInputError`. */
export async function compileSchema(schema: unknown): Promise<ResultCheck> {
	if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
		throw new JobInputError('the schema must be a JSON object');
	}
	const {createCheck} = await import('./ajv-check.js');
	try {
		return createCheck(schema);
	} catch (cause) {
		throw new JobInputError(`the schema cannot be used: ${errorMessage(cause)}`, {cause});
	}
}
