import {join} from 'node:path';
import {errorMessage, LongarmError} from '../../shared/errors.js';
import type {EnvironmentProvider, EnvironmentSnapshot} from '../environment-provider.js';
import {invalidEnvironment} from '../remote/remote-url.js';
import {ENVIRONMENTS_FILE} from './config-home.js';
import type {TomlEntry} from './edit/edit-text.js';
import {holdsToken, parseEnvironments} from './environments-file.js';
import {readGuardedFile} from './guarded-file.js';

/** The environments of `environments.toml` in a directory; in use when there is such a file. */
export class FileProvider implements EnvironmentProvider {
	readonly path: string;

	constructor(home: string) {
		this.path = join(home, ENVIRONMENTS_FILE);
	}

	async snapshot(): Promise<EnvironmentSnapshot | undefined> {
		const {path} = this;
		try {
			const {text, secrecyFault} = await readGuardedFile(path);
			const snapshot = parseEnvironments(text, path);
			if (secrecyFault !== undefined && holdsToken(text)) throw new Error(`it holds a token, and ${secrecyFault}`);
			return snapshot;
		} catch (cause) {
			if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
			if (cause instanceof LongarmError) throw cause;
			const message = `failed to read environment config \`${path}\`: ${errorMessage(cause)}`;
			throw invalidEnvironment(message, {file: path}, cause);
		}
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
