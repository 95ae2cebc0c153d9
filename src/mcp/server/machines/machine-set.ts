import {suggestName} from '../../../shared/closest-name.js';
import type {Machine} from './machine.js';

/** A file of a machine, as a model names it. */
export interface MachinePath {
	readonly machine: Machine;
	/** Absolute. */
	readonly path: string;
}

/** The machines that tools work on; the first is the default. */
export class MachineSet {
	readonly all: readonly Machine[];

	constructor(machines: readonly Machine[]) {
		if (machines.length === 0) throw new TypeError('there is no machine to work on');
		this.all = machines;
	}

	get default(): Machine {
		return this.all[0]!;
	}

	require(name: string): Machine {
		const machine = this.all.find(each => each.name === name);
		if (machine) return machine;
		const names = this.all.map(each => each.name);
		throw new TypeError(`no machine is called ${JSON.stringify(name)};${suggestName(name, names)} known are ${names.join(', ')}`);
	}

	/** Machines of `a,b`; the default one if nothing is given. */
	select(on: string | undefined): Machine[] {
		if (on === undefined || on.trim() === '') return [this.default];
		if (this.all.some(({name}) => name === on)) return [this.require(on)];
		const names = on.split(',').map(name => name.trim());
		return [...new Set(names.filter(name => name !== '').map(name => this.require(name)))];
	}

	/** `devbox:/srv/app`; a path without a machine is one of the default machine. */
	async locate(given: string): Promise<MachinePath> {
		const machine = this.all.find(({name}) => given.startsWith(`${name}:`));
		const path = machine ? given.slice(machine.name.length + 1) : given;
		const where = machine ?? this.default;
		return {machine: where, path: await where.resolvePath(path === '' ? '.' : path)};
	}
}
