import {Readable, Writable} from 'node:stream';
import type {Backend, Child, SpawnRequest} from '../../processes/backends/backend.js';
import {StderrTail} from '../../shared/stderr-tail.js';
import {StdioTransport} from '../../transports/node/stdio.js';
import type {Transport, TransportEvents} from '../../transports/transport.js';
import {WrappedTransport} from '../../transports/wrapped-transport.js';

/** Tail of stderr kept for the error message. */
const MAX_STDERR_CHARS = 2000;

/**
 * Spawns a child with the server's own backend that speaks the protocol on its standard input and output; it ends with
 * the transport. `node:child_process` does not work here: the server reaps all its children itself.
 */
export async function spawnTransport(
	backend: Backend,
	request: Omit<SpawnRequest, 'io'>,
	onStderr: (text: string) => void,
): Promise<Transport> {
	let child: Child | undefined;
	const stderr = new StderrTail(MAX_STDERR_CHARS);
	const output = new Readable({read: () => child?.resume()});
	child = await backend.spawn(
		{...request, io: {kind: 'pipes', stdin: true}},
		{
			output: (stream, bytes) => {
				if (stream === 'stderr') {
					const text = Buffer.from(bytes).toString();
					stderr.push(text);
					onStderr(text);
				} else if (!output.push(bytes)) {
					child?.pause();
				}
			},
			streamEnded: stream => {
				if (stream === 'stdout') output.push(null);
			},
			exited: () => {},
		},
	);
	return new ChildTransport(child, output, stderr);
}

class ChildTransport extends WrappedTransport {
	readonly #child: Child;
	readonly #stderr: StderrTail;

	constructor(child: Child, output: Readable, stderr: StderrTail) {
		super(new StdioTransport(output, createStdinStream(child)));
		this.#child = child;
		this.#stderr = stderr;
	}

	override open(events: TransportEvents): void {
		super.open({
			...events,
			closed: error => {
				this.#child.signal('SIGKILL');
				this.#child.stdin?.destroy();
				// Stderr is another pipe: its last output may arrive after the end of stdout.
				setImmediate(() => {
					this.#child.drainAndClose();
					const reason = this.#stderr.text.trim();
					events.closed(error ?? (reason === '' ? undefined : new Error(reason)));
				});
			},
		});
	}
}

function createStdinStream({stdin}: Child): Writable {
	return new Writable({
		write: (chunk: Buffer, _encoding, done) => stdin!.write(chunk, () => done()),
		final: done => {
			stdin!.end();
			done();
		},
	});
}
