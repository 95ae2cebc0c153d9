import type {LogEvent, LogGap} from '../../processes/output/log-cursor.js';
import {encodeWithBytes} from '../../protocol/wire/encode.js';
import type {RpcConnection} from '../../rpc/rpc-connection.js';

/** Sends a process event as a notification of the client's protocol version. */
export type SendProcessEvent = (connection: RpcConnection, processId: string, event: LogEvent | LogGap) => void;

export const sendProcessEvent: SendProcessEvent = (connection, processId, event) => {
	switch (event.kind) {
		case 'output': {
			const {seq, stream, bytes} = event;
			connection.notify('process/output', encodeWithBytes({processId, seq, stream, chunk: bytes}));
			return;
		}
		case 'exited': {
			const {seq, exitCode, reason, sandboxDenied = false} = event;
			const extra = reason === 'exit' ? {} : {reason};
			connection.notify('process/exited', {processId, seq, exitCode, sandboxDenied, ...extra});
			return;
		}
		case 'closed':
			connection.notify('process/closed', {processId, seq: event.seq});
			return;
		case 'gap': {
			const {afterSeq, throughSeq, missedBytes} = event;
			connection.notify('process/gap', {processId, afterSeq, throughSeq, missedBytes});
			return;
		}
	}
};

/** The first protocol has no sequence numbers, no `pty` stream and no notification for the end of output. */
export const sendProcessEventV0: SendProcessEvent = (connection, sessionId, event) => {
	switch (event.kind) {
		case 'output': {
			const stream = event.stream === 'pty' ? 'stdout' : event.stream;
			connection.notify('command/exec/outputDelta', encodeWithBytes({sessionId, stream, chunk: event.bytes}));
			return;
		}
		case 'exited':
			connection.notify('command/exec/exited', {sessionId, exitCode: event.exitCode});
			return;
		// Its processes are never shared, so that nothing is missing.
		case 'closed':
		case 'gap':
			return;
	}
};
