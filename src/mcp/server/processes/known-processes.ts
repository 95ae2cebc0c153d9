import type {ListedProcess} from '../../../client/process/shared-process.js';
import {RejectedError} from '../../../client/session/client-errors.js';
import {isLiving} from '../../../environments/processes/find-process.js';
import {suggestName} from '../../../shared/closest-name.js';
import {MachineRefusalError} from '../machines/machine-lack.js';
import type {MachineSet} from '../machines/machine-set.js';
import type {NamedMachine} from '../machines/named-machine.js';
import {KeptProcess} from './kept-process.js';
import {reach} from './lost-machine.js';
import {isMeant, isSecretId, ProcessIds, requireProcessName, shownIdOf, withoutSecretIds} from './process-ids.js';
import type {ProcessRights} from './process-rights.js';
import {SessionProcess} from './session-process.js';
import {type CommandRequest, startCommand} from './start-command.js';
import type {TrackedProcess} from './tracked-process.js';

/** Processes whose ids are remembered; the oldest are looked up on their machine again. */
export const MAX_KNOWN_PROCESSES = 4096;
/** Ended processes of machines that keep nothing: their output is in our memory. */
const MAX_HELD_ENDED = 32;

/** There is no such process. */
export class UnknownIdError extends Error {
	override readonly name = 'UnknownIdError';
}

/** A process on a machine that was found by looking there. */
interface FoundProcess {
	readonly machine: NamedMachine;
	readonly listed: ListedProcess;
}

/** Processes by the ids that a model uses: those started here, and those of earlier and other clients. */
export class KnownProcesses {
	readonly ids: ProcessIds;
	readonly rights: ProcessRights;
	readonly #machines: MachineSet;
	readonly #processes = new Map<string, TrackedProcess>();

	constructor(machines: MachineSet, ids: ProcessIds, rights: ProcessRights) {
		this.rights = rights;
		this.#machines = machines;
		this.ids = ids;
	}

	async start(machine: NamedMachine, request: CommandRequest): Promise<TrackedProcess> {
		if (request.name !== undefined) requireProcessName(request.name);
		const ids = await this.ids.next(machine, request.name);
		const process = await startCommand(machine, request, ids, this.rights).catch((error: unknown) => {
			throw this.#withoutIds(error);
		});
		this.#remember(process);
		return process;
	}

	/** The process of an id: `p7`, a name, `devbox.p7`, or an id that `longarm ps` shows. */
	async require(given: string): Promise<TrackedProcess> {
		const {machine, id} = this.#split(given.trim());
		const known = this.#findKnown(id, machine);
		if (known) return known;
		const found = await this.#lookFor(id, machine ? [machine] : this.#machines.all);
		const process = this.#track(found);
		this.#remember(process);
		return process;
	}

	/** The id to show for a listed process: short, unless it means another one here. */
	idFor(machine: NamedMachine, listed: ListedProcess): string {
		const {processId} = listed;
		if (this.ids.areSecret) return this.#processes.get(processId)?.id ?? maskId(processId);
		const short = shownIdOf(listed);
		const known = this.#processes.get(short);
		const isOther = known !== undefined && (known.machine !== machine || known.processId !== processId);
		return isOther ? processId : short;
	}

	/** Processes of machines that cannot list them. */
	heldOn(machine: NamedMachine): SessionProcess[] {
		const held = [...this.#processes.values()].filter(process => process.machine === machine);
		return held.filter(process => process instanceof SessionProcess);
	}

	/** The refusal of a start may tell the id of another process, which has the name already. */
	#withoutIds(error: unknown): unknown {
		if (!this.ids.areSecret || !(error instanceof RejectedError)) return error;
		return new MachineRefusalError(withoutSecretIds(error.reason), {cause: error});
	}

	#findKnown(id: string, machine: NamedMachine | undefined): TrackedProcess | undefined {
		const known = this.#processes.get(id);
		return machine === undefined || known?.machine === machine ? known : undefined;
	}

	/** `devbox.p7` names the machine, if there is one. */
	#split(given: string): {machine: NamedMachine | undefined; id: string} {
		const machine = this.#machines.all.find(({name}) => given.startsWith(`${name}.`));
		if (!machine || this.#processes.has(given)) return {machine: undefined, id: given};
		return {machine, id: given.slice(machine.name.length + 1)};
	}

	/** Where ids are secrets, only the whole id will do. */
	async #lookFor(id: string, machines: readonly NamedMachine[]): Promise<FoundProcess> {
		const lists = await Promise.all(machines.map(machine => listOnMachine(machine).catch(() => [])));
		const all = lists.flatMap((list, at) => list.map(listed => ({machine: machines[at]!, listed})));
		const {areSecret} = this.ids;
		const meant = all.filter(({listed}) =>
			areSecret ? listed.processId === id && isSecretId(id) : isMeant(id, listed),
		);
		const living = meant.filter(({listed}) => isLiving(listed));
		const candidates = living.length > 0 ? living : latest(meant);
		if (candidates.length === 1) return candidates[0]!;
		if (candidates.length > 1) throw ambiguousError(id, candidates);
		const names = areSecret ? [] : [...this.#processes.keys(), ...all.map(({listed}) => shownIdOf(listed))];
		throw new UnknownIdError(`no process has the id ${JSON.stringify(id)};${suggestName(id, names)} ps lists all`);
	}

	#track({machine, listed}: FoundProcess): KeptProcess {
		const {processId, tty: isTerminal, ageMs} = listed;
		return new KeptProcess(machine, {
			id: this.ids.areSecret ? processId : this.idFor(machine, listed),
			processId,
			isTerminal,
			ageMs: isLiving(listed) ? ageMs : undefined,
			rights: this.rights,
		});
	}

	#remember(process: TrackedProcess): void {
		this.#processes.delete(process.id);
		this.#processes.set(process.id, process);
		const ended = [...this.#processes.values()].filter(each => each instanceof SessionProcess && each.isOver);
		for (const each of ended.slice(0, Math.max(0, ended.length - MAX_HELD_ENDED))) this.#processes.delete(each.id);
		if (this.#processes.size <= MAX_KNOWN_PROCESSES) return;
		const oldest = [...this.#processes].find(([, each]) => each instanceof KeptProcess);
		if (oldest) this.#processes.delete(oldest[0]);
	}
}

/** All processes of a machine that can be seen with its limits, ended ones included. */
export async function listOnMachine(machine: NamedMachine): Promise<ListedProcess[]> {
	const {keepsProcesses} = await reach(machine.name, machine.facts());
	if (!keepsProcesses) return [];
	const labels = await machine.processLabels();
	const limited = Object.keys(labels).length === 0 ? {} : {labels};
	return reach(machine.name, machine.environment.processes.list({all: true, includeEnded: true, ...limited}));
}

function latest(found: readonly FoundProcess[]): FoundProcess[] {
	return [...found].sort((one, other) => other.listed.startedAtMs - one.listed.startedAtMs).slice(0, 1);
}

function ambiguousError(id: string, found: readonly FoundProcess[]): UnknownIdError {
	const list = found.map(({machine, listed}) => `${machine.name}.${listed.processId}`).join(', ');
	return new UnknownIdError(`${JSON.stringify(id)} could be several processes: ${list}; use one of these`);
}

/** The random part is the secret; an id without one may be anything. */
function maskId(processId: string): string {
	return isSecretId(processId) && processId.includes('-') ? withoutSecretIds(processId) : '…';
}
