import {constants} from 'node:os';
import {LongarmError} from '../../shared/errors.js';
import {osErrorName, osErrorText} from '../../shared/node/os-error.js';

const {EMFILE, ENFILE, EAGAIN, ENOMEM} = constants.errno;
/** The machine has run out of something: the same start may succeed later. */
const EXHAUSTED: ReadonlySet<number> = new Set([EMFILE, ENFILE, EAGAIN, ENOMEM]);

/** The operating system refused to start `program`. */
export function spawnFailure(errno: number, program: string): LongarmError {
	const code = EXHAUSTED.has(Math.abs(errno)) ? 'RESOURCES_EXHAUSTED' : 'SPAWN_FAILED';
	return new LongarmError(code, {message: osErrorText(errno), context: {program, error: osErrorName(errno)}});
}
