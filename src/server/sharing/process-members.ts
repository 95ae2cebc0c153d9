import type {ManagedProcess} from '../../processes/managed-process.js';
import type {NotificationName, ParamsOnWire} from '../../protocol/methods/method-table.js';
import type {ProcessRole} from '../../protocol/methods/sharing-params.js';
import {LongarmError} from '../../shared/errors.js';
import type {Session} from '../connection/sessions.js';

/** A session that uses a process. */
export interface Member {
	readonly session: Session;
	/** Id the client knows the process by. */
	readonly processId: string;
	role: ProcessRole;
	/** Monotonic. */
	readonly since: number;
}

export type DriverChange = ParamsOnWire<'process/driverChanged'>['reason'];

type MemberNotification = Extract<
	NotificationName,
	'process/attached' | 'process/detached' | 'process/driverChanged' | 'process/resized'
>;

/**
 * The clients of one process and the seat of its driver. A session that loses its connection keeps its seat until
 * somebody else takes it; nobody gets it without asking.
 */
export class SharedProcess {
	readonly process: ManagedProcess;
	readonly #members = new Map<Session, Member>();
	#driver: Member | undefined;

	constructor(process: ManagedProcess) {
		this.process = process;
	}

	get members(): Iterable<Member> {
		return this.#members.values();
	}

	/** The member whose client is there and drives. */
	get driver(): Member | undefined {
		return this.#driver?.session.isAttached ? this.#driver : undefined;
	}

	get driverName(): string | null {
		return this.driver?.session.clientName ?? null;
	}

	find(session: Session): Member | undefined {
		return this.#members.get(session);
	}

	isDriver(session: Session): boolean {
		return this.#driver?.session === session;
	}

	/** Adds a session without telling the others; for the one that starts the process. */
	enter(session: Session, processId: string, role: ProcessRole): Member {
		const member: Member = {session, processId, role, since: performance.now()};
		this.#members.set(session, member);
		session.memberships.add(this);
		session.left.delete(this.process);
		if (role === 'drive') this.#driver = member;
		return member;
	}

	/** Adds a session or changes its role. Throws `NOT_DRIVER` if the seat is taken, unless it is to be taken over. */
	attach(session: Session, processId: string, role: ProcessRole, takeover: boolean): Member {
		const {driver} = this;
		if (role === 'drive' && driver && driver.session !== session && !takeover) throw this.notDriverError();
		const known = this.#members.get(session);
		const member = known ?? this.enter(session, processId, 'observe');
		if (!known) this.#tellOthers(session, 'process/attached', {client: session.clientName, role});
		if (role === 'drive') this.#seat(member, driver ? 'takeover' : 'attached');
		else if (member.role === 'drive') this.#vacate(member, 'detached');
		return member;
	}

	/** Removes a session; its seat is free then. */
	leave(session: Session, reason: 'detached' | 'disconnected'): void {
		const member = this.#members.get(session);
		if (!member) return;
		const {role} = member;
		if (this.#driver === member) this.#vacate(member, reason);
		this.#members.delete(session);
		session.memberships.delete(this);
		session.left.add(this.process);
		session.pump?.endDelivery(this.process);
		this.#tellOthers(session, 'process/detached', {client: session.clientName, role});
	}

	/** The connection of a session was lost or is back: so is the driver, unless another one has the seat. */
	handleConnection(session: Session, isConnected: boolean): void {
		if (this.#driver?.session !== session) return;
		const {clientName} = session;
		const change: ParamsOf<'process/driverChanged'> = isConnected
			? {driver: clientName, previous: null, reason: 'attached'}
			: {driver: null, previous: clientName, reason: 'disconnected'};
		this.#tellOthers(session, 'process/driverChanged', change);
	}

	/** Tells everybody but the driver, who has asked for it. */
	tellResized(rows: number, cols: number): void {
		if (this.#driver) this.#tellOthers(this.#driver.session, 'process/resized', {rows, cols});
	}

	notDriverError(): LongarmError {
		const {id} = this.process;
		const driver = this.driverName;
		const who = driver === null ? 'no client drives it' : `${driver} drives it`;
		return new LongarmError('NOT_DRIVER', {
			message: `process ${id} is not driven by this client: ${who}`,
			context: {processId: id, driver},
		});
	}

	#seat(member: Member, reason: DriverChange): void {
		const previous = this.#driver;
		if (previous === member) return;
		const name = this.driverName;
		if (previous) {
			previous.role = 'observe';
			previous.session.pump?.setDriving(this.process, false);
		}
		member.role = 'drive';
		this.#driver = member;
		this.#tellAll('process/driverChanged', {driver: member.session.clientName, previous: name, reason});
	}

	#vacate(member: Member, reason: DriverChange): void {
		member.role = 'observe';
		this.#driver = undefined;
		member.session.pump?.setDriving(this.process, false);
		this.#tellAll('process/driverChanged', {driver: null, previous: member.session.clientName, reason});
	}

	#tellAll<N extends MemberNotification>(name: N, params: ParamsOf<N>): void {
		for (const {session, processId} of this.#members.values()) session.notify(name, {processId, ...params});
	}

	#tellOthers<N extends MemberNotification>(except: Session, name: N, params: ParamsOf<N>): void {
		for (const {session, processId} of this.#members.values()) {
			if (session !== except) session.notify(name, {processId, ...params});
		}
	}
}

type ParamsOf<N extends MemberNotification> = Omit<ParamsOnWire<N>, 'processId'>;
