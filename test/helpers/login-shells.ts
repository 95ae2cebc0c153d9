import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {basename, join} from 'node:path';
import type {ServerOptions} from '../../src/server/options.js';
import {findProgram} from './needs.js';
import {scratchDirectory} from './scratch.js';
import {execServer} from './serving.js';
import {TestClient} from './test-client.js';

export const INHERIT_ALL = {inherit: 'all', ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: []};

/** Startup file of a login shell, in the home directory. */
const PROFILES: Record<string, string> = {bash: '.bash_profile', zsh: '.zprofile', sh: '.profile'};

/** A home directory whose profile counts how often it is run. */
export class LoginHome {
	readonly path = scratchDirectory();
	readonly shell: string;
	readonly #name: string;

	constructor(name = 'bash', profile = '') {
		this.#name = name;
		this.shell = findProgram(name) ?? `/bin/${name}`;
		this.profile(profile);
	}

	profile(script: string): void {
		this.write(PROFILES[this.#name]!, `echo >> '${this.path}/runs'\n${script}`);
	}

	write(name: string, text: string): void {
		writeFileSync(join(this.path, name), text);
	}

	has(name: string): boolean {
		return existsSync(join(this.path, name));
	}

	read(name: string): string {
		return readFileSync(join(this.path, name), 'utf8');
	}

	get runs(): number {
		return this.has('runs') ? this.read('runs').length : 0;
	}

	/** A client of a server whose own home directory this is. */
	client(options: ServerOptions = {}): Promise<TestClient> {
		const variables = {PATH: process.env['PATH'], HOME: this.path};
		return TestClient.overMemory(execServer({variables, ...options})).initialize();
	}

	/** Starts a command of the login shell, with a snapshot unless `more` says otherwise. */
	start(client: TestClient, id: string, command: string, more: Record<string, unknown> = {}): Promise<unknown> {
		return this.startArgv(client, id, ['-lc', command], more);
	}

	startArgv(client: TestClient, id: string, args: readonly string[], more: Record<string, unknown> = {}) {
		return client.start(id, [this.shell, ...args], {
			env: {},
			envPolicy: INHERIT_ALL,
			...this.snapshot('scope'),
			...more,
		});
	}

	/** Runs the command to its end. */
	async run(client: TestClient, id: string, command: string, changes: Record<string, unknown> = {}) {
		await this.start(client, id, command, changes);
		return client.done(id);
	}

	/** The member that asks for a snapshot. */
	snapshot(scopeId: string, name: string = basename(this.shell)): {shellSnapshot: object} {
		return {shellSnapshot: {scopeId, shell: {name, path: this.shell}}};
	}
}

export const PLAIN = {shellSnapshot: null};
