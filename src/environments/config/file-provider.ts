import {readFile, stat} from 'node:fs/promises';
import {join} from 'node:path';
import {errorMessage} from '../../shared/errors.js';
import {findIntegrityFault} from '../../shared/node/private-file.js';
import type {EnvironmentProvider, EnvironmentSnapshot} from '../environment-provider.js';
import {invalidEnvironment} from '../remote/remote-url.js';
import type {TomlEntry} from './edit/edit-text.js';
import {ENVIRONMENTS_FILE, parseEnvironments} from './environments-file.js';

/** The environments of `environments.toml` in a directory; in use when there is such a file. */
export class FileProvider implements EnvironmentProvider {
	readonly path: string;

	constructor(home: string) {
		this.path = join(home, ENVIRONMENTS_FILE);
	}

	async snapshot(): Promise<EnvironmentSnapshot | undefined> {
		const {path} = this;
		let text: string;
		try {
			text = await readFile(path, 'utf8');
			// It names programs that are started.
			const fault = findIntegrityFault(await stat(path), path);
			if (fault !== undefined) throw new Error(fault);
		} catch (cause) {
			if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
			const message = `failed to read environment config \`${path}\`: ${errorMessage(cause)}`;
			throw invalidEnvironment(message, {file: path}, cause);
		}
		return parseEnvironments(text, path);
	}

	/** Adds an environment to the file, which need not exist; everything else in it stays as it is. */
	async add(entry: TomlEntry, options: {readonly isDefault: boolean}): Promise<void> {
		const {addEnvironment} = await import('./edit/edit-file.js');
		await addEnvironment(this.path, entry, options);
	}

	/** Takes an environment out of the file, and out of its place as the default; everything else stays as it is. */
	async remove(id: string): Promise<{readonly wasDefault: boolean}> {
		const {removeEnvironment} = await import('./edit/edit-file.js');
		return removeEnvironment(this.path, id);
	}
}
