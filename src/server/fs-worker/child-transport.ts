import {Readable, Writable} from 'node:stream';
import type {Backend, Child, SpawnRequest} from '../../processes/backends/backend.js';
import {StdioTransport} from '../../transports/node/stdio.js';
import type {Transport, TransportEvents} from '../../transports/transport.js';
import {WrappedTransport} from '../../transports/wrapped-transport.js';

/** Of what the child writes to its standard error, the end is kept to tell why it failed. */
const KEPT_STDERR_CHARS = 2000;

/**
 * A child of the server's own backend that speaks the protocol on its standard input and output; it ends with the
 * transport. A server cannot use `node:child_process` for it: it reaps all its children itself.
 */
export async function spawnTransport(
	backend: Backend,
	request: Omit<SpawnRequest, 'io'>,
	onStderr: (text: string) => void,
): Promise<Transport> {
	let child: Child | undefined;
	let complaint = '';
	const output = new Readable({read: () => child?.resume()});
	child = await backend.spawn(
		{...request, io: {kind: 'pipes', stdin: true}},
		{
			output: (stream, bytes) => {
				if (stream === 'stderr') {
					const text = Buffer.from(bytes).toString();
					complaint = (complaint + text).slice(-KEPT_STDERR_CHARS);
					onStderr(text);
				} else if (!output.push(bytes)) {
					child?.pause();
				}
			},
			ended: stream => {
				if (stream === 'stdout') output.push(null);
			},
			exited: () => {},
		},
	);
	return new ChildTransport(child, output, () => complaint.trim());
}

class ChildTransport extends WrappedTransport {
	readonly #child: Child;
	readonly #complaint: () => string;

	constructor(child: Child, output: Readable, complaint: () => string) {
		super(new StdioTransport(output, inputOf(child)));
		this.#child = child;
		this.#complaint = complaint;
	}

	override open(events: TransportEvents): void {
		super.open({
			...events,
			closed: error => {
				this.#child.signal('SIGKILL');
				this.#child.stdin?.destroy();
				// Its last words may be a moment behind.
				setImmediate(() => {
					this.#child.finish();
					const said = this.#complaint();
					events.closed(error ?? (said === '' ? undefined : new Error(said)));
				});
			},
		});
	}
}

function inputOf({stdin}: Child): Writable {
	return new Writable({
		write: (chunk: Buffer, _encoding, done) => stdin!.write(chunk, () => done()),
		final: done => {
			stdin!.end();
			done();
		},
	});
}
