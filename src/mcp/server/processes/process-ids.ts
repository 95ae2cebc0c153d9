import type {ListedProcess} from '../../../client/process/shared-process.js';
import {randomHex} from '../../../shared/random-id.js';
import type {NamedMachine} from '../machines/named-machine.js';
import {reach} from './lost-machine.js';

/** Random part of an id on a machine, where several programs choose ids. */
const PART_BYTES = 3;
/** The same where an id is a secret. */
const SECRET_BYTES = 8;
/** At least as many random digits. */
const SECRET_PART = `[0-9a-f]{${2 * SECRET_BYTES},}`;
const SECRET_ID = new RegExp(`(?:^|-)${SECRET_PART}$`);
const SECRET_PARTS = new RegExp(`-${SECRET_PART}(?![\\w-])`, 'g');
const NUMBERED = /^p(\d{1,9})$/;
const PROCESS_ID = /^(.+)-(?:[0-9a-f]{6}|[0-9a-f]{16})$/;
/** Names of processes that servers take. */
const NAME = /^[A-Za-z0-9][\w.-]{0,47}$/;

/** Ids of a process: the one a model uses, and the one on the machine. */
export interface ProcessIdPair {
	readonly id: string;
	readonly processId: string;
}

/**
 * Ids for models: `p7`, or the given name, since a model types them again. Numbers go on behind those of earlier programs
 * on the same machine. Where ids are secrets, they have a random part.
 */
export class ProcessIds {
	readonly areSecret: boolean;
	#last = 0;
	readonly #looked = new WeakMap<NamedMachine, Promise<void>>();

	constructor({areSecret}: {readonly areSecret: boolean}) {
		this.areSecret = areSecret;
	}

	async next(machine: NamedMachine, name: string | undefined): Promise<ProcessIdPair> {
		if (name === undefined) await this.#lookForNumbers(machine);
		const stem = name ?? `p${++this.#last}`;
		const processId = this.areSecret ? toSecretId(stem) : `${stem}-${randomHex(PART_BYTES)}`;
		return {id: this.areSecret ? processId : stem, processId};
	}

	/** Once for each machine; one that cannot list has none. */
	#lookForNumbers(machine: NamedMachine): Promise<void> {
		const looked = this.#looked.get(machine) ?? this.#raise(machine);
		this.#looked.set(machine, looked);
		return looked;
	}

	async #raise(machine: NamedMachine): Promise<void> {
		const {keepsProcesses, listsProcesses} = await machine.facts();
		if (!keepsProcesses || !listsProcesses) return;
		const listed = await reach(machine.name, machine.environment.processes.list({all: true, includeEnded: true}));
		for (const {processId} of listed) this.#last = Math.max(this.#last, numberOf(stemOf(processId)) ?? 0);
	}
}

/** Whether an id has a random part that cannot be guessed. */
export function isSecretId(id: string): boolean {
	return SECRET_ID.test(id);
}

/** A text without the random parts of the ids in it. */
export function withoutSecretIds(text: string): string {
	return text.replaceAll(SECRET_PARTS, '-…');
}

/** Adds a random part to an id that shall be a secret. */
export function toSecretId(id: string): string {
	return `${id}-${randomHex(SECRET_BYTES)}`;
}

/** Throws for a name that cannot be an id. */
export function requireProcessName(name: string): void {
	if (!NAME.test(name)) {
		throw new TypeError(
			`name: expected up to 48 letters, digits, dots, dashes and underscores, not ${JSON.stringify(name)}`,
		);
	}
	if (NUMBERED.test(name)) throw new TypeError(`name: ${name} would be taken for a number; choose a word`);
}

/** The id a model uses for a process that a list shows. */
export function shownIdOf({processId, name}: ListedProcess): string {
	return name || (stemOf(processId) ?? processId);
}

/** Whether an id that a model has typed means a listed process. */
export function isMeant(id: string, {processId, name}: ListedProcess): boolean {
	return id === name || id === processId || id === stemOf(processId);
}

/** `p7` of `p7-1a2b3c`; undefined for ids that come from elsewhere. */
function stemOf(processId: string): string | undefined {
	return PROCESS_ID.exec(processId)?.[1];
}

function numberOf(stem: string | undefined): number | undefined {
	const [, digits] = NUMBERED.exec(stem ?? '') ?? [];
	return digits === undefined ? undefined : Number(digits);
}
