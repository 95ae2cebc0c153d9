import type {ProcessChange, ProcessRole} from './shared-process.js';

type DriverChange = Extract<ProcessChange, {kind: 'driverChanged'}>;

/** Who drives a process, as far as this client was told. */
export class Seat {
	/** A process is driven by the client that started it. */
	#role: ProcessRole = 'drive';
	#driver: string | undefined;
	/** Name by which the server calls this client; known once it was granted the seat. */
	#ownName: string | undefined;

	get role(): ProcessRole {
		return this.#role;
	}

	get driver(): string | undefined {
		return this.#driver;
	}

	/** Takes the answer to a request for a role. Returns the change since then, should nobody have told. */
	granted(role: ProcessRole, driver: string | undefined): DriverChange | undefined {
		const [before, previous] = [this.#role, this.#driver];
		this.#role = role;
		this.#driver = driver;
		if (role === 'drive') this.#ownName = driver;
		const hasLostSeat = before === 'drive' && role === 'observe';
		if (!hasLostSeat && driver === previous) return undefined;
		const reason = hasLostSeat ? 'disconnected' : driver === undefined ? 'detached' : 'attached';
		return {kind: 'driverChanged', driver, previous, reason};
	}

	/** Only changes by other clients are told, unless the server tells a driver of itself, too. */
	changed({driver, previous}: DriverChange): void {
		const isOwn = driver !== undefined && driver === this.#ownName && previous !== this.#ownName;
		this.#driver = driver;
		if (!isOwn) this.#role = 'observe';
	}

	/** A request was refused because another client drives. */
	refused(driver: unknown): void {
		this.#role = 'observe';
		this.#driver = typeof driver === 'string' ? driver : undefined;
	}
}
