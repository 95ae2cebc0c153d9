import {PortForward} from '../../../environments/ports/port-forward.js';
import {lackError} from './machine-lack.js';
import type {NamedMachine} from './named-machine.js';

/** Ports that are forwarded at once. */
export const MAX_FORWARDED_PORTS = 64;
const LISTEN_ADDRESS = '127.0.0.1';
const NO_FORWARDING = 'its server does not forward ports; use exec with curl there';

/** Ports of machines that can be reached on this one. */
export class ForwardedPorts implements AsyncDisposable {
	readonly #forwards = new Map<string, Promise<PortForward>>();

	/** Port here that leads to a port of a machine; the same one for every call. */
	async forward(machine: NamedMachine, port: number): Promise<number> {
		if (machine.environment.kind === 'local') return port;
		if (!(await machine.facts()).forwardsPorts) throw lackError(machine, 'port', NO_FORWARDING);
		const key = `${machine.name} ${port}`;
		const known = this.#forwards.get(key);
		if (known) return (await known).local.port;
		if (this.#forwards.size >= MAX_FORWARDED_PORTS)
			throw new Error(`${MAX_FORWARDED_PORTS} ports are forwarded already`);
		const opened = PortForward.listen(
			{address: LISTEN_ADDRESS, port: 0, host: 'localhost', remotePort: port},
			{environment: machine.environment, failed: () => {}},
		);
		this.#forwards.set(key, opened);
		try {
			return (await opened).local.port;
		} catch (error) {
			this.#forwards.delete(key);
			throw error;
		}
	}

	async [Symbol.asyncDispose](): Promise<void> {
		const forwards = await Promise.allSettled(this.#forwards.values());
		this.#forwards.clear();
		const opened = forwards.flatMap(forward => (forward.status === 'fulfilled' ? [forward.value] : []));
		await Promise.all(opened.map(forward => forward[Symbol.asyncDispose]()));
	}
}
