import type {Files} from '../../../client/files/files.js';
import {selectEnvironments, unknownEnvironment} from '../../../environments/many/selector.js';
import type {EnvironmentLabels} from '../../../shared/labels.js';
import type {NamedMachine} from './named-machine.js';

/** A file of a machine, as a model names it. */
export interface MachinePath {
	readonly machine: NamedMachine;
	/** Absolute. */
	readonly path: string;
	/** The files of the machine, with its limits. */
	readonly files: Files;
}

/** The machines that tools work on; the first is the default. */
export class MachineSet {
	readonly all: readonly NamedMachine[];

	constructor(machines: readonly NamedMachine[]) {
		if (machines.length === 0) throw new TypeError('there is no machine to work on');
		this.all = machines;
	}

	get default(): NamedMachine {
		return this.all[0]!;
	}

	require(name: string): NamedMachine {
		const machine = this.all.find(each => each.name === name);
		if (machine) return machine;
		throw unknownEnvironment(name, this.#names);
	}

	/** Machines of `a,b,@os=linux`; the default one if nothing is given. */
	select(on: string | undefined): NamedMachine[] {
		if (on === undefined || on.trim() === '') return [this.default];
		if (this.#names.includes(on)) return [this.require(on)];
		const labels = new Map<string, EnvironmentLabels>(this.all.map(({name, labels: own}) => [name, own]));
		return selectEnvironments(on, {names: this.#names, labels}).map(name => this.require(name));
	}

	get #names(): string[] {
		return this.all.map(({name}) => name);
	}

	/** `devbox:/srv/app`; a path without a machine is one of the default machine. */
	async locate(given: string): Promise<MachinePath> {
		const machine = this.all.find(({name}) => given.startsWith(`${name}:`));
		const path = machine ? given.slice(machine.name.length + 1) : given;
		const where = machine ?? this.default;
		return {machine: where, path: await where.resolvePath(path === '' ? '.' : path), files: await where.files()};
	}
}
