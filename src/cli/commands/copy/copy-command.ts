import {createHash} from 'node:crypto';
import type {CopyContext} from '../../../client/files/copy/copy-context.js';
import {CopyTargetError, planCopies} from '../../../client/files/copy/copy-plan.js';
import {CopyStats} from '../../../client/files/copy/copy-stats.js';
import {runTasks} from '../../../client/files/copy/run-tasks.js';
import type {LongarmError} from '../../../shared/errors.js';
import {type Address, givenAddress, isBarePath, localAddress, parseAddress} from '../../common/address.js';
import {InterruptedError, Interruption} from '../../common/interruption.js';
import {type Location, LocationResolver} from '../../common/locations.js';
import {refuseForgottenColon} from '../../common/meant-address.js';
import {EXIT, usageError} from '../../exit-codes.js';
import {CopyReporter} from './copy-reporter.js';

export interface CopyCommandOptions {
	/** The value of `-e`. */
	readonly environment: string | undefined;
	readonly recursive: boolean;
	readonly noClobber: boolean;
	readonly sync: boolean;
	readonly json: boolean;
	readonly quiet: boolean;
	readonly progress: boolean;
}

/** From anywhere to anywhere. */
export async function cp(paths: readonly string[], options: CopyCommandOptions): Promise<number> {
	if (paths.length < 2) throw usageError('a copy needs a source and a target');
	const addresses = paths.map(parseAddress);
	for (const [at, address] of addresses.entries()) await refuseForgottenColon(paths[at]!, address);
	return copy(addresses.slice(0, -1), addresses.at(-1)!, options);
}

/** From here to an environment; into its working directory, if no target is given. */
export function put(paths: readonly string[], options: CopyCommandOptions): Promise<number> {
	const parse = environmentParser(options);
	const target = paths.length === 1 ? parse('') : parse(paths.at(-1)!);
	return copy((paths.length === 1 ? paths : paths.slice(0, -1)).map(localAddress), target, options);
}

/** From an environment to here; into the working directory, if no target is given. */
export function get(paths: readonly string[], options: CopyCommandOptions): Promise<number> {
	const parse = environmentParser(options);
	const target = localAddress(paths.length === 1 ? '.' : paths.at(-1)!);
	return copy((paths.length === 1 ? paths : paths.slice(0, -1)).map(parse), target, options);
}

/**
 * With `-e` every path is one of that environment, colons or not; without, one that names no environment is one of the
 * default environment.
 */
function environmentParser({environment}: CopyCommandOptions): (path: string) => Address {
	return path => {
		if (environment !== undefined || path === '') return givenAddress(path);
		const address = parseAddress(path);
		return isBarePath(path, address) ? givenAddress(path) : address;
	};
}

/** Copies the sources to the target and returns the exit code. */
async function copy(
	sources: readonly Address[],
	target: Address,
	{environment, recursive, noClobber, sync, ...output}: CopyCommandOptions,
): Promise<number> {
	using interruption = new Interruption();
	await using resolver = new LocationResolver({environment, quiet: output.quiet});
	const {signal} = interruption;
	const reporter = new CopyReporter(output);
	const stats = new CopyStats(reporter);
	const context: CopyContext = {signal, stats, overwrite: !noClobber, sync, observer: reporter};
	const directoryRefusal = recursive ? undefined : 'is a directory; -r copies directories';
	const startedAt = performance.now();
	try {
		const from = (await Promise.all(sources.map(address => resolver.findAll(address)))).flat();
		const to = await resolver.find(target);
		reporter.learnEnvironments([...from, to]);
		const tasks = await planCopies(
			from.map(source => ({
				...source,
				contentsOnly: source.isMeantAsContents,
				isUnnamed: source.isNamedElsewhere,
				identity: identify(source),
			})),
			{...to, mustBeDirectory: to.isMeantAsDirectory},
			{directoryRefusal},
			context,
		);
		reporter.startProgress();
		await runTasks(tasks, context);
	} catch (error) {
		reporter.endProgress();
		if (error instanceof CopyTargetError) throw targetUsageError(error, reporter);
		if (!(error instanceof InterruptedError) && !signal.aborted) throw error;
		reporter.writeLine('interrupted: the same command goes on where this one stopped');
		return (signal.reason as InterruptedError).exitCode;
	}
	reporter.endProgress();
	reporter.writeSummary(stats.summary, performance.now() - startedAt);
	return stats.summary.failed > 0 ? EXIT.failed : EXIT.ok;
}

/** A digest: neither the address of an environment nor a path of this machine is for everybody at the target. */
function identify({environment, path}: Location): string {
	return createHash('sha256').update(`${environment.id}\0${path.href}`).digest('hex');
}

function targetUsageError({reason, location}: CopyTargetError, reporter: CopyReporter): LongarmError {
	const path = reporter.describe(location);
	switch (reason) {
		case 'several-sources':
			return usageError(`${path} is not a directory, and there are several sources`);
		case 'not-a-directory':
			return usageError(`${path} is not a directory`);
		case 'no-parent':
			return usageError(`there is no directory ${path}`);
	}
}
