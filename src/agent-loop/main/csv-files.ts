import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {basename, dirname, join} from 'node:path';
import {resolveWorkingDirectory, toDisplayPath} from '../../agent-tools/spawner.js';
import {ToolFailure} from '../../agent-tools/tool-failures.js';
import {FileError} from '../../client/files/file-error.js';
import {Environment} from '../../environments/environment.js';
import {defaultOutputPath} from '../../jobs/store/job-directory.js';
import {errorMessage} from '../../shared/errors.js';
import {execEnvironmentAt} from '../worker/exec-environment-at.js';

const OUTPUT_INFIX = 'agent-job';
const COPY_PREFIX = 'longarm-job-';

/** Files of a job over CSV as this machine sees them. */
export interface CsvFiles extends AsyncDisposable {
	/** Path of the input here. */
	readonly input: string;
	/** Path of the output here; `undefined` leaves it to the job. */
	readonly output: string | undefined;
	/** Part of the default name of the output. */
	readonly outputInfix: string;
	/** Puts the output in its place, and returns the path that the model knows it by. */
	publish(written: string, jobId: string): Promise<string>;
}

export interface CsvPaths {
	readonly csvPath: string;
	readonly outputCsvPath: string | undefined;
}

/**
 * Opens the files a model names, which are on the machine where its commands run: there it has made the input, and there
 * it will look for the output. Those of another machine are copied. Throws a `ToolFailure`.
 */
export async function openCsvFiles(
	environment: Environment,
	cwd: string | undefined,
	{csvPath, outputCsvPath}: CsvPaths,
): Promise<CsvFiles> {
	const info = await execEnvironmentAt(environment, cwd).info();
	const toPath = (path: string): string => toDisplayPath(resolveWorkingDirectory(info, path));
	const input = toPath(csvPath);
	const output = outputCsvPath === undefined ? undefined : toPath(outputCsvPath);
	if (environment.kind === 'remote') return copyFromThere(environment, input, output);
	return {
		input,
		output,
		outputInfix: OUTPUT_INFIX,
		publish: async written => written,
		[Symbol.asyncDispose]: async () => {},
	};
}

async function copyFromThere(environment: Environment, input: string, output: string | undefined): Promise<CsvFiles> {
	const folder = await mkdtemp(join(tmpdir(), COPY_PREFIX));
	const here = Environment.local();
	const remove = async (): Promise<void> => {
		await rm(folder, {recursive: true, force: true});
		await here.close();
	};
	const copy = join(folder, basename(input));
	const {copyFiles} = await import('../../client/files/copy/copy-files.js');
	try {
		await copyFiles({from: environment.at(input), to: here.at(copy)});
	} catch (error) {
		await remove();
		throw new ToolFailure(`failed to read csv input ${input}: ${reasonOf(error)}`);
	}
	return {
		input: copy,
		output: join(folder, 'output.csv'),
		outputInfix: OUTPUT_INFIX,
		publish: async (written, jobId) => {
			const path = output ?? defaultOutputPath(input, jobId, OUTPUT_INFIX);
			await environment.files.createDirectory(dirname(path), {recursive: true});
			await copyFiles({from: here.at(written), to: environment.at(path)});
			return path;
		},
		[Symbol.asyncDispose]: remove,
	};
}

function reasonOf(error: unknown): string {
	return error instanceof FileError ? error.detail : errorMessage(error);
}
