// Linux only: reads the credentials of the other end of a Unix socket through koffi.
import {closeSync} from 'node:fs';
import {loadKoffi} from '../../../shared/node/koffi.js';
import {readProc} from '../../tree/proc.js';

const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
/** Linux 6.5 and later. */
const SO_PEERPIDFD = 77;
const ENOPROTOOPT = 92;
/** Process, user and group, 32 bits each. */
const CREDENTIALS_BYTES = 12;
/** Stands for a process of a namespace that is not below ours. */
export const FOREIGN_PID = 0;

type GetSocketOption = (fd: number, level: number, option: number, value: Uint8Array, length: Uint8Array) => number;

let getSocketOption: GetSocketOption | undefined;

/** Process that connected a Unix socket, or `FOREIGN_PID`; undefined where that cannot be told, or if it has ended. */
export function findConnectingProcess(fd: number): number | undefined {
	try {
		const [pid] = readOption(fd, SO_PEERCRED);
		if (pid === undefined || pid < 0) return undefined;
		return pid === FOREIGN_PID || isStillIt(fd, pid) ? pid : undefined;
	} catch {
		return undefined;
	}
}

/** Whether the number still stands for the process that connected: the kernel gives it to another one after its end. */
function isStillIt(fd: number, pid: number): boolean {
	const [descriptor] = readOption(fd, SO_PEERPIDFD);
	if (descriptor === undefined) return loadKoffi().errno() === ENOPROTOOPT;
	try {
		return new RegExp(`^Pid:\\s*${pid}$`, 'm').test(readProc(`self/fdinfo/${descriptor}`));
	} finally {
		closeSync(descriptor);
	}
}

/** Numbers of an option; empty where the kernel does not tell it. */
function readOption(fd: number, option: number): Int32Array {
	getSocketOption ??= loadKoffi()
		.load(null)
		.func('int getsockopt(int fd, int level, int option, void *value, void *length)') as GetSocketOption;
	const value = new Int32Array(CREDENTIALS_BYTES / Int32Array.BYTES_PER_ELEMENT);
	const length = new Uint32Array([CREDENTIALS_BYTES]);
	const bytes = new Uint8Array(value.buffer);
	const status = getSocketOption(fd, SOL_SOCKET, option, bytes, new Uint8Array(length.buffer));
	return status === 0 ? value.subarray(0, length[0]! / Int32Array.BYTES_PER_ELEMENT) : value.subarray(0, 0);
}
