// Apart from result-schema.ts, because it takes long to load and few jobs have a schema.
import {Ajv, type ErrorObject} from 'ajv';
import {Ajv2020} from 'ajv/dist/2020.js';
import type {ResultCheck} from './result-schema.js';

const DRAFT_7 = /draft-0?[67]/;
const MAX_DETAIL = 500;

/** Throws for a schema that cannot be used. */
export function createCheck(schema: object): ResultCheck {
	const {$schema: draft} = schema as {$schema?: unknown};
	const isOlder = typeof draft === 'string' && DRAFT_7.test(draft);
	const options = {strict: false, logger: false, validateFormats: false} as const;
	const validate = (isOlder ? new Ajv(options) : new Ajv2020(options)).compile(schema);
	return result => (validate(result) ? undefined : describeError(validate.errors?.[0]));
}

function describeError(error: ErrorObject | undefined): string {
	const text = error ? `${error.instancePath || 'the result'} ${error.message ?? 'is not valid'}` : 'it is not valid';
	return text.slice(0, MAX_DETAIL);
}
