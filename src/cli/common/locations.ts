import {resolve} from 'node:path';
import {FileError} from '../../client/files/file-error.js';
import type {Files} from '../../client/files/files.js';
import {toPathUri} from '../../client/paths.js';
import type {Environment} from '../../environments/environment.js';
import {LOCAL} from '../../environments/environment-provider.js';
import {PathUri, PathUriError} from '../../protocol/path-uri/path-uri.js';
import {waitAtMost} from '../../shared/async/timeout.js';
import {EXIT, usageError} from '../exit-codes.js';
import {type Address, parseReadAddress} from './address.js';
import {openEnvironment} from './environments.js';
import {hintOf} from './hint-of.js';
import {explainUnknown, suggestAddress} from './meant-address.js';
import {relayStderr, writeMessage} from './messages.js';
import {printable, printableName, printableReason} from './printable.js';

/** Time limit for the orderly end of all connections. */
const MAX_CLOSE_MS = 500;

/** A path of an environment. */
export interface Location {
	readonly environment: Environment;
	readonly files: Files;
	readonly path: PathUri;
}

/** A location from the command line, with what its spelling says. */
export interface ParsedLocation extends Location {
	/** As it was written. */
	readonly given: string;
	/** Written with a slash at the end: it has to be a directory. */
	readonly isMeantAsDirectory: boolean;
	/** Written as `.` or with `/.` at the end: what is in it is meant, not the directory itself. */
	readonly isMeantAsContents: boolean;
	/** Its last name is not in what was written: another machine tells it. */
	readonly isNamedElsewhere: boolean;
	/** Found by a pattern. */
	readonly isMatched?: true;
}

export interface ResolverOptions {
	/** The value of `-e`. */
	readonly environment: string | undefined;
	/** Without the line that tells which environment is the default. */
	readonly quiet?: boolean | undefined;
}

/** The environments one command works with, each opened once. */
export class LocationResolver implements AsyncDisposable {
	readonly #options: ResolverOptions;
	readonly #opened = new Map<string | undefined, Promise<Environment>>();

	constructor(options: ResolverOptions) {
		this.#options = options;
	}

	async find(address: Address): Promise<ParsedLocation> {
		const environment = await this.#open(this.#nameOf(address)).catch((error: unknown) => {
			throw explainUnknown(error, address);
		});
		if (address.place.kind === 'given') this.#requireGiven(environment, address);
		const {path: given} = address;
		return {
			environment,
			files: environment.files,
			path: await resolvePath(environment, given),
			given,
			isMeantAsDirectory: given.endsWith('/'),
			isMeantAsContents: given === '.' || given.endsWith('/.'),
			isNamedElsewhere: environment.kind !== 'local' && /^(?:~?|(?:.*\/)?\.\.)\/*$/s.test(given),
		};
	}

	/** The same; of another machine, a pattern that is no path stands for all paths it matches. */
	async findAll(address: Address): Promise<readonly ParsedLocation[]> {
		const place = await this.find(address);
		if (place.environment.kind === 'local' || !/[*?[]/.test(place.given)) return [place];
		const {expandPattern} = await import('./expand-pattern.js');
		return expandPattern(place);
	}

	/** Does not wait for a server that does not answer: the program ends soon after, and the connections with it. */
	async [Symbol.asyncDispose](): Promise<void> {
		const closed = Promise.allSettled(
			Array.from(this.#opened.values(), async environment => (await environment).close()),
		);
		await waitAtMost(closed, MAX_CLOSE_MS);
	}

	/** Undefined for the default one. */
	#nameOf({place}: Address): string | undefined {
		if (place.kind === 'local') return LOCAL;
		return place.kind === 'named' ? place.environment : this.#options.environment;
	}

	/** Throws where nothing says which environment is meant. */
	#requireGiven({kind}: Environment, {path}: Address): void {
		if (kind === 'remote' || this.#options.environment !== undefined) return;
		const what = path === '' ? 'the environment' : `where \`${printable(path)}\` is`;
		throw usageError(`${what} has to be said, with -e ENV or as ENV:PATH; there is no default environment`);
	}

	#open(name: string | undefined): Promise<Environment> {
		const {quiet} = this.#options;
		const opened = this.#opened.get(name) ?? openEnvironment(name, {onStderr: relayStderr, quiet});
		this.#opened.set(name, opened);
		return opened;
	}
}

/** For people, and for the command line again where that is possible. */
export function describeLocation({environment, path}: Location): string {
	const shown = path.convention === 'posix' ? printableName(path.toBinary('posix')) : path.toWindowsPath();
	return environment.kind === 'local' ? shown : `${printable(environment.id)}:${shown}`;
}

async function resolvePath(environment: Environment, path: string): Promise<PathUri> {
	try {
		if (path.startsWith('file:///')) return PathUri.parse(path);
		if (environment.kind === 'local') return PathUri.fromNative(resolve(path));
		return isAbsolute(path) ? toPathUri(path) : await resolveRelative(environment, path);
	} catch (error) {
		if (!(error instanceof PathUriError)) throw error;
		throw usageError(`\`${printable(path)}\`: ${error.message}`, error);
	}
}

function isAbsolute(path: string): boolean {
	return path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path);
}

/** Relative to the home directory with `~`, else to the directory the executor works in. */
async function resolveRelative(environment: Environment, path: string): Promise<PathUri> {
	const isBelowHome = path === '~' || path.startsWith('~/');
	const {cwd, userHomeDir} = await environment.info();
	const base = isBelowHome ? userHomeDir : cwd;
	if (base === undefined || base === null) {
		const what = isBelowHome ? 'its home directory' : 'the directory it works in';
		const message = `${printable(environment.id)} does not tell ${what}; write an absolute path instead of \`${printable(path)}\``;
		throw usageError(message);
	}
	// In bytes, so that the dots of the path are resolved together with the directory.
	const rest = Buffer.from(isBelowHome ? path.slice(1) : `/${path}`).toString('latin1');
	return PathUri.fromBinary(`${PathUri.parse(base).toBinary('posix')}${rest}`);
}

/**
 * Runs work for each address, in their order. A failure is reported in a line and the rest goes on; returns the exit
 * code. Work that writes to standard output belongs into `runUntilBrokenPipe`.
 */
export async function forEachLocation(
	given: readonly string[],
	options: ResolverOptions,
	work: (place: ParsedLocation, given: string) => Promise<void>,
): Promise<number> {
	await using places = new LocationResolver(options);
	const addresses = given.map(text => ({text, address: parseReadAddress(text)}));
	let failed = 0;
	for (const {text, address} of addresses) {
		for (const place of await places.findAll(address)) {
			const shown = place.isMatched ? describeLocation(place) : text;
			try {
				await work(place, shown);
			} catch (error) {
				if (!(error instanceof FileError)) throw error;
				failed++;
				const meant = error.code === 'disconnected' ? '' : await suggestAddress(text);
				writeMessage(`error: ${printable(shown)}: ${printableReason(error)}${meant}`);
				// The server cannot be reached, for every path of it.
				const hint = error.code === 'disconnected' ? hintOf(error) : undefined;
				if (hint !== undefined) writeMessage(`hint: ${hint}`);
			}
		}
	}
	return failed > 0 ? EXIT.failed : EXIT.ok;
}
