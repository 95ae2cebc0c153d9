import {CAT} from './cat.js';
import {CP, GET, PUT} from './copy.js';
import type {CommandDefinition, GroupDefinition} from './definition.js';
import {DOCTOR} from './doctor.js';
import {LS} from './ls.js';
import {SERVE} from './serve.js';

/** Every command, in the order in which help shows them. */
export const COMMANDS: readonly CommandDefinition[] = [SERVE, LS, CAT, CP, PUT, GET, DOCTOR];

export const GROUPS: readonly GroupDefinition[] = [];
