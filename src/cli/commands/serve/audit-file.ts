import {closeSync, constants, fstatSync, openSync, writeSync} from 'node:fs';
import {errorMessage} from '../../../shared/errors.js';
import {findIntegrityFault} from '../../../shared/node/private-file.js';
import {invalidSetting} from './serve-settings.js';

const FILE_MODE = 0o600;
// Not followed: in a directory of others a link could lead to any file of ours. Not waited for: a pipe without a reader.
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** File that lines are appended to; readable by its owner only. */
export class AuditFile {
	readonly #path: string;
	#fd: number;

	/** Throws `SETTING_INVALID` if it cannot be used. */
	constructor(path: string) {
		this.#path = path;
		this.#fd = open(path);
	}

	/** False for a line that could not be written: the work goes on. */
	readonly write = (line: string): boolean => {
		try {
			return writeSync(this.#fd, line) === Buffer.byteLength(line);
		} catch {
			return false;
		}
	};

	/** Opens the path again, after the file was moved away; throws and stays with the old one if that fails. */
	reopen(): void {
		const fd = open(this.#path);
		closeSync(this.#fd);
		this.#fd = fd;
	}
}

function open(path: string): number {
	let fd: number | undefined;
	try {
		fd = openSync(path, FLAGS, FILE_MODE);
		const stats = fstatSync(fd);
		const fault = stats.isFile() ? findIntegrityFault(stats, path) : 'it is not a regular file';
		if (fault !== undefined) throw new Error(fault);
		return fd;
	} catch (error) {
		if (fd !== undefined) closeSync(fd);
		throw invalidSetting(`cannot write the audit log ${path}: ${errorMessage(error)}`);
	}
}
