import type {Environment} from '../../environments/environment.js';

/** Makes the file `$0` the standard input, removes it, and becomes the command. */
const READ_FILE = 'exec <"$0" && rm -f -- "$0" && exec "$@"';
const SHELL = '/bin/sh';
/** Suffix of the file with the row, behind the path of the report. */
const ROW_SUFFIX = '-row';

/**
 * Writes the row to a file of the executor, and returns the command that reads it as its standard input. For servers that
 * cannot close an input: a command that reads to the end would wait for ever.
 */
export async function readRowFromFile(
	{files}: Environment,
	argv: readonly string[],
	{row, reportPath}: {readonly row: string; readonly reportPath: string},
): Promise<string[]> {
	const path = reportPath + ROW_SUFFIX;
	await files.writeFile(path, row);
	return [SHELL, '-c', READ_FILE, path, ...argv];
}
