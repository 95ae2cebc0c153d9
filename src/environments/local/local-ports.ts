import {toForwardError} from '../../client/ports/forward-error.js';
import {openPortConnection, type PortConnection} from '../../client/ports/port-connection.js';
import type {Ports, PortTarget} from '../../client/ports/ports.js';
import {ForwardedConnection} from '../../network/forward/forwarded-connection.js';
import {onAbort} from '../../shared/async/on-abort.js';

/** Ports as this machine sees them, through the same code that serves others. */
export class LocalPorts implements Ports, Disposable {
	readonly #open = new Set<ForwardedConnection>();

	async connect({host = 'localhost', port, signal}: PortTarget): Promise<PortConnection> {
		signal?.throwIfAborted();
		const connection = new ForwardedConnection({host, port}, 'any');
		const close = (): void => {
			this.#open.delete(connection);
			connection.close();
		};
		const stopListening = onAbort(signal, close);
		this.#open.add(connection);
		try {
			await connection.opened;
		} catch (error) {
			close();
			signal?.throwIfAborted();
			throw toForwardError(error);
		} finally {
			stopListening();
		}
		return openPortConnection({
			read: maxBytes => connection.read(maxBytes, async (_bytes, take) => take()),
			write: (bytes, eof) => connection.write(bytes, eof),
			close,
		});
	}

	/** Ends every connection. */
	[Symbol.dispose](): void {
		for (const connection of this.#open) connection.close();
		this.#open.clear();
	}
}
