import type {Result} from '../../protocol/methods/method-table.js';
import {readOptions} from '../../shared/call-options.js';
import {randomId} from '../../shared/random-id.js';
import {EVERYTHING} from '../process/acknowledger.js';
import type {PausableSource} from '../process/event-stream.js';
import type {ProcessSession, RoleRequest} from '../process/process-session.js';
import {RemoteProcess} from '../process/remote-process.js';
import {ATTACH_OPTIONS, type AttachProcessOptions, requireRole} from '../process/shared-process.js';
import {catchUpInPages} from './catch-up.js';
import {RejectedError} from './client-errors.js';
import type {ProcessRegistry} from './process-registry.js';
import {requireCapability} from './require-capability.js';
import type {Caller} from './session-client.js';

type Calling = Pick<Caller, 'call'>;
type Attachment = Result<'process/attach'>;

export interface ProcessAttacherOptions {
	readonly session: ProcessSession;
	readonly registry: ProcessRegistry;
	/** Pauses the events of attached processes with back-pressure. */
	readonly source: PausableSource;
	/** The session is that of an earlier client, so that it may have processes that this client has not started. */
	readonly isResumed: boolean;
}

/**
 * Attaches to processes that this client has not started: those of its session by reading what the server keeps, those of
 * others by asking for their events.
 */
export class ProcessAttacher {
	readonly #session: ProcessSession;
	readonly #registry: ProcessRegistry;
	readonly #source: PausableSource;
	readonly #isResumed: boolean;

	constructor({session, registry, source, isResumed}: ProcessAttacherOptions) {
		this.#session = session;
		this.#registry = registry;
		this.#source = source;
		this.#isResumed = isResumed;
	}

	async attach(idOrName: string, options: AttachProcessOptions): Promise<RemoteProcess> {
		const settings = readOptions<AttachProcessOptions>(options, ATTACH_OPTIONS, 'attach()');
		requireRole(settings.role, 'attach()');
		const known = this.#registry.find(idOrName);
		if (known) return this.#withRole(known, settings);
		return (await this.#isShared(idOrName, settings))
			? this.#attachShared(idOrName, settings)
			: this.#attachOwn(idOrName, settings.afterSeq);
	}

	/** Asks for another role; events go on behind the last one that was published. */
	async attachAgain(process: RemoteProcess, {role, takeover, size}: RoleRequest): Promise<void> {
		const reference = process.reference ?? process.processId;
		const request = {process: reference, role, takeover, afterSeq: process.published, ...(size && {size})};
		const isComplete = await this.#registry.duringAttach(
			() => this.#session.call('process/attach', request),
			reply => {
				process.attached(reference, reply);
				return process;
			},
		);
		if (!isComplete) await this.#catchUp(this.#session, process);
	}

	/** Attaches to the process over a new connection, with its role if that is free; attachments end with a connection. */
	async reattach(connection: Calling, process: RemoteProcess): Promise<void> {
		const reference = process.reference!;
		const isComplete = await this.#registry.duringAttach(
			() => requestRole(connection, process, reference),
			reply => {
				process.attached(reference, reply, {isRecovery: true});
				return process;
			},
		);
		if (!isComplete || process.hasDropped) await this.#catchUp(connection, process);
		process.isCatchingUp = false;
	}

	async #withRole(
		process: RemoteProcess,
		{role, takeover = false, size}: AttachProcessOptions,
	): Promise<RemoteProcess> {
		const wantsSeat = role === 'drive' || takeover;
		if (wantsSeat && process.role !== 'drive') {
			requireCapability((await this.#session.describe()).capabilities, 'processAttach', 'attach() with a role');
			await this.attachAgain(process, {role: 'drive', takeover, size});
		}
		return process;
	}

	/** Whether the server has to be asked for the events: those of the session's own processes come anyway. */
	async #isShared(idOrName: string, {role, takeover, size}: AttachProcessOptions): Promise<boolean> {
		const {capabilities} = await this.#session.describe();
		const hasRole = role !== undefined || takeover === true || size !== undefined;
		if (hasRole) requireCapability(capabilities, 'processAttach', 'attach() with a role');
		if (capabilities['processAttach'] !== true) return false;
		if (hasRole || !this.#isResumed || capabilities['processList'] !== true) return true;
		const {processes} = await this.#session.repeat('process/list', {});
		return !processes.some(({processId, name}) => processId === idOrName || name === idOrName);
	}

	/**
	 * Events are asked for from the beginning, and those that come before the reply are kept. Reading pages instead would
	 * have to go on until the reader of the handle had caught up with output on disk, which may be of any size.
	 */
	async #attachShared(reference: string, options: AttachProcessOptions): Promise<RemoteProcess> {
		const {afterSeq = 0, takeover = false, role = takeover ? 'drive' : 'observe', size, backpressure} = options;
		const request = {process: reference, role, takeover, afterSeq, ...(size && {size})};
		const source = backpressure ? this.#source : undefined;
		let process!: RemoteProcess;
		const isComplete = await this.#registry.duringAttach(
			() => this.#session.call('process/attach', request),
			reply => {
				// Another call was first, or the name is that of a process that is known by its id.
				process = this.#registry.get(reply.processId) ?? this.#create(reference, reply, {afterSeq, source});
				process.attached(process.reference ?? reference, reply);
				return process;
			},
		);
		process.handleStarted();
		if (!isComplete) await this.#catchUp(this.#session, process);
		return process;
	}

	#create(
		reference: string,
		reply: Attachment,
		options: {afterSeq: number; source: PausableSource | undefined},
	): RemoteProcess {
		const name = this.#toName(reference, reply);
		return new RemoteProcess(reply.processId, this.#session, {...options, writePrefix: `${randomId()}-`, name});
	}

	/** An id that is not the one asked for belongs to a name, or stands for an id that this session has itself. */
	#toName(reference: string, {processId}: Attachment): string | undefined {
		return reference === processId || this.#registry.get(reference) ? undefined : reference;
	}

	/** A process of the session. It does not hold the process back: one that waited for an earlier reader runs on. */
	async #attachOwn(processId: string, afterSeq: number | undefined): Promise<RemoteProcess> {
		const process = new RemoteProcess(processId, this.#session, {afterSeq, writePrefix: `${randomId()}-`});
		this.#registry.add(process);
		try {
			await this.#catchUp(this.#session, process);
		} catch (error) {
			this.#registry.delete(process);
			throw error;
		}
		process.handleStarted();
		if ((await this.#session.describe()).capabilities['processAcknowledge']) {
			// Refused where the token may only look on: the process waits for its driver then.
			this.#session.repeat('process/acknowledge', {processId, seq: EVERYTHING}).catch(() => {});
		}
		if (process.isOver) this.#registry.delete(process);
		return process;
	}

	async #catchUp(connection: Calling, process: RemoteProcess): Promise<void> {
		process.isCatchingUp = true;
		await catchUpInPages(process, (afterSeq, maxBytes) =>
			connection.call('process/read', {processId: process.processId, afterSeq, waitMs: 0, ...(maxBytes && {maxBytes})}),
		);
	}
}

/** A seat that was taken meanwhile is left to its new driver. */
async function requestRole(connection: Calling, process: RemoteProcess, reference: string): Promise<Attachment> {
	const {role, published: afterSeq} = process;
	const request = {process: reference, takeover: false, afterSeq};
	try {
		return await connection.call('process/attach', {...request, role});
	} catch (error) {
		const isTaken = error instanceof RejectedError && error.errorCode === 'NOT_DRIVER';
		if (!isTaken || role !== 'drive') throw error;
		return connection.call('process/attach', {...request, role: 'observe'});
	}
}
