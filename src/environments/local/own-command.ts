import {existsSync} from 'node:fs';
import {createRequire} from 'node:module';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {LongarmError} from '../../shared/errors.js';

/** Places of the command relative to this file: in the package, in the command itself, and in the source. */
const PROGRAMS = ['../../bin/longarm.js', './longarm.js', '../../../dist/bin/longarm.js'];

/** The command of this package, without its arguments. A bundled program needs the package installed beside it. */
export function findOwnCommand(): string[] {
	const program = [...PROGRAMS.map(path => fileURLToPath(new URL(path, import.meta.url))), installedProgram()].find(
		path => path !== undefined && existsSync(path),
	);
	if (program !== undefined) return [process.execPath, program];
	throw new LongarmError('NOT_SUPPORTED', {
		message: 'the command of this package is not installed: it runs the local daemon and sandboxed file calls',
	});
}

/** Undefined if the package cannot be found from this file. */
function installedProgram(): string | undefined {
	try {
		return join(dirname(createRequire(import.meta.url).resolve('longarm/package.json')), 'dist/bin/longarm.js');
	} catch {
		return undefined;
	}
}
