import type {NamedMachine} from './named-machine.js';

/** A machine that can be reached says no: nothing is lost, and asking again changes nothing. */
export class MachineRefusalError extends Error {
	override readonly name = 'MachineRefusalError';
}

/** A machine lacks something that a tool needs; `why` says what to do instead, too. */
export function lackError({name}: NamedMachine, what: string, why: string): MachineRefusalError {
	return new MachineRefusalError(`${name} has no \`${what}\`: ${why}`);
}
