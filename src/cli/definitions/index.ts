import type {CommandDefinition, GroupDefinition} from './definition.js';
import {DOCTOR} from './doctor.js';
import {SERVE} from './serve.js';

/** Every command, in the order in which help shows them. */
export const COMMANDS: readonly CommandDefinition[] = [SERVE, DOCTOR];

export const GROUPS: readonly GroupDefinition[] = [];
