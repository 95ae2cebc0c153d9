import type {CommandDefinition, GroupDefinition} from './definition.js';
import {DOCTOR} from './doctor.js';
import {RUN} from './run.js';
import {SERVE} from './serve.js';
import {SHELL} from './shell.js';

/** Every command, in the order in which help shows them. */
export const COMMANDS: readonly CommandDefinition[] = [SERVE, RUN, SHELL, DOCTOR];

export const GROUPS: readonly GroupDefinition[] = [];
