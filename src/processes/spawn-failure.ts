import {LongarmError} from '../shared/errors.js';
import {osErrorName, osErrorText} from '../shared/node/os-error.js';

/** The operating system refused to start `program`. */
export function spawnFailure(errno: number, program: string): LongarmError {
	return new LongarmError('SPAWN_FAILED', {message: osErrorText(errno), context: {program, error: osErrorName(errno)}});
}
