// Linux only: reads the credentials of the other end of a Unix socket through koffi.
import {loadKoffi} from '../../../shared/node/koffi.js';

const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
/** Process, user and group, 32 bits each. */
const CREDENTIALS_BYTES = 12;

type GetSocketOption = (fd: number, level: number, option: number, value: Uint8Array, length: Uint8Array) => number;

let getSocketOption: GetSocketOption | undefined;

/** Process that connected a Unix socket; undefined where that cannot be told. */
export function findConnectingProcess(fd: number): number | undefined {
	try {
		getSocketOption ??= loadKoffi()
			.load(null)
			.func('int getsockopt(int fd, int level, int option, void *value, void *length)') as GetSocketOption;
		const value = new Int32Array(CREDENTIALS_BYTES / Int32Array.BYTES_PER_ELEMENT);
		const length = new Uint32Array([CREDENTIALS_BYTES]);
		const status = getSocketOption(
			fd,
			SOL_SOCKET,
			SO_PEERCRED,
			new Uint8Array(value.buffer),
			new Uint8Array(length.buffer),
		);
		// Zero is a process of a namespace that is not below ours.
		return status === 0 && value[0]! > 0 ? value[0] : undefined;
	} catch {
		return undefined;
	}
}
