// Linux only: what the kernel knows of a TCP connection, read through koffi.
import {loadKoffi} from '../../shared/node/koffi.js';

const IPPROTO_TCP = 6;
const TCP_INFO = 11;
/** Bytes in the send queue that are not acknowledged, sent or not. */
const SIOCOUTQ = 0x5411;
/** `struct tcp_info` as far as it is read; the kernel fills in what the buffer holds. */
const INFO_BYTES = 128;
const OFFSETS = {retransmits: 2, probes: 3, unacked: 24, lastDataReceived: 52, lastAckReceived: 56, bytesAcked: 120};

export interface TcpInfo {
	/** Time since data arrived, read by us or not. */
	readonly dataSilentMs: number;
	/** Time since the peer's kernel acknowledged anything, be it a probe of ours. */
	readonly ackSilentMs: number;
	/** Whether something was sent, data or a probe, that the peer's kernel has not acknowledged. */
	readonly isUnanswered: boolean;
	readonly ackedBytes: number;
	/** Bytes on their way, sent or not. */
	readonly queuedBytes: number;
}

interface Calls {
	getSocketOption(fd: number, level: number, option: number, value: Uint8Array, length: Uint8Array): number;
	ioctl(fd: number, request: number, value: Uint8Array): number;
}

let calls: Calls | undefined;
let isMissing = process.platform !== 'linux';

/** Undefined where it cannot be told: another system, no koffi, not a TCP connection. */
export function readTcpInfo(fd: number): TcpInfo | undefined {
	if (isMissing || fd < 0) return undefined;
	try {
		calls ??= loadCalls();
	} catch {
		isMissing = true;
		return undefined;
	}
	const info = Buffer.alloc(INFO_BYTES);
	const length = new Uint8Array(Uint32Array.of(INFO_BYTES).buffer);
	const queued = Buffer.alloc(Int32Array.BYTES_PER_ELEMENT);
	if (calls.getSocketOption(fd, IPPROTO_TCP, TCP_INFO, info, length) !== 0) return undefined;
	// Kernels before 4.1 know less.
	if (new Uint32Array(length.buffer)[0]! < INFO_BYTES || calls.ioctl(fd, SIOCOUTQ, queued) !== 0) return undefined;
	return {
		dataSilentMs: info.readUInt32LE(OFFSETS.lastDataReceived),
		ackSilentMs: info.readUInt32LE(OFFSETS.lastAckReceived),
		isUnanswered: info[OFFSETS.retransmits]! > 0 || info[OFFSETS.probes]! > 0 || info.readUInt32LE(OFFSETS.unacked) > 0,
		ackedBytes: Number(info.readBigUInt64LE(OFFSETS.bytesAcked)),
		queuedBytes: queued.readInt32LE(),
	};
}

function loadCalls(): Calls {
	const library = loadKoffi().load(null);
	return {
		getSocketOption: library.func(
			'int getsockopt(int fd, int level, int option, void *value, void *length)',
		) as Calls['getSocketOption'],
		ioctl: library.func('int ioctl(int fd, unsigned long request, void *argument)') as Calls['ioctl'],
	};
}
