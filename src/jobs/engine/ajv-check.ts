// Loaded by the threads for schemas only: what it compiles is code of clients.
import {Ajv, type ErrorObject} from 'ajv';
import {Ajv2020} from 'ajv/dist/2020.js';

const DRAFT_7 = /draft-0?[67]/;
const MAX_DETAIL = 500;

/** Says what is wrong with a result; undefined if nothing is. */
export type ObjectCheck = (result: object) => string | undefined;

/** Throws for a schema that cannot be used. */
export function createCheck(schema: object): ObjectCheck {
	const {$schema: draft} = schema as {$schema?: unknown};
	const isOlder = typeof draft === 'string' && DRAFT_7.test(draft);
	// References are functions and not copies: the code is about as long as the schema.
	const options = {strict: false, logger: false, validateFormats: false, inlineRefs: false} as const;
	const validate = (isOlder ? new Ajv(options) : new Ajv2020(options)).compile(schema);
	if ('$async' in validate) throw new Error('$async is not supported: remove it');
	return result => (validate(result) ? undefined : describeError(validate.errors?.[0]));
}

function describeError(error: ErrorObject | undefined): string {
	const text = error ? `${error.instancePath || 'the result'} ${error.message ?? 'is not valid'}` : 'it is not valid';
	return text.slice(0, MAX_DETAIL);
}
