import {LongarmError} from '../shared/errors.js';

export function invalidEnvironment(message: string, context?: Record<string, unknown>, cause?: unknown): LongarmError {
	return new LongarmError('ENVIRONMENT_INVALID', {message, ...(context && {context}), cause});
}
