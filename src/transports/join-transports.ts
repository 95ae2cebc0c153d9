import type {Transport, TransportEvents} from './transport.js';

/** Bytes that wait for one side; above them nothing is read from the other. */
const MAX_BACKLOG_BYTES = 1024 * 1024;

/** Passes whole messages between two transports, back-pressure included; the end of either ends the other. */
export function joinTransports(one: Transport, other: Transport, ended?: (error?: Error) => void): void {
	one.open(eventsOf(one, other, ended));
	other.open(eventsOf(other, one, ended));
}

function eventsOf(from: Transport, to: Transport, ended?: (error?: Error) => void): TransportEvents {
	return {
		message: (text, payload) => {
			to.send(payload?.original() ?? text);
			if (to.backlog > MAX_BACKLOG_BYTES) from.pause();
		},
		unreadable: () => from.destroy(),
		drained: () => to.resume(),
		closed: error => {
			to.close();
			ended?.(error);
		},
	};
}
