import {CAT} from './cat.js';
import {COMPLETION} from './completion.js';
import {CP, GET, PUT} from './copy.js';
import type {CommandDefinition, GroupDefinition} from './definition.js';
import {DOCTOR} from './doctor.js';
import {ENV, ENV_ADD, ENV_LIST, ENV_REMOVE, ENV_TEST} from './env.js';
import {FORWARD} from './forward.js';
import {LS} from './ls.js';
import {RUN} from './run.js';
import {SERVE} from './serve.js';
import {SHELL} from './shell.js';

/** Every command, in the order in which help shows them. */
export const COMMANDS: readonly CommandDefinition[] = [
	RUN,
	SHELL,
	FORWARD,
	LS,
	CAT,
	CP,
	PUT,
	GET,
	ENV_LIST,
	ENV_ADD,
	ENV_REMOVE,
	ENV_TEST,
	SERVE,
	DOCTOR,
	COMPLETION,
];

export const GROUPS: readonly GroupDefinition[] = [ENV];
