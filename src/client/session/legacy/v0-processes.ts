import {METHODS, type Params, type RequestName, type ResultOnWire} from '../../../protocol/methods/method-table.js';
import {decode} from '../../../protocol/wire/decode.js';
import {JsonParts} from '../../../protocol/wire/encode.js';
import type {Notification} from '../../../protocol/wire/envelope.js';
import {INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError} from '../../../protocol/wire/error-codes.js';
import type {RpcConnection} from '../../../rpc/rpc-connection.js';

/** The first protocol has no end of output: the process is reported as closed this long after its exit. */
const OUTPUT_DRAIN_MS = 250;
const STDIN_CLOSED = /^stdin is closed/;

interface Session {
	readonly processId: string;
	seq: number;
}

type Delta = Params<'command/exec/outputDelta'>;
type Exit = Params<'command/exec/exited'>;

/**
 * Adapter to a server of the first protocol, which assigns process ids itself and has no sequence numbers. There is no
 * replay, no signal and no session to resume.
 */
export class V0Processes {
	readonly #rpc: RpcConnection;
	readonly #onNotification: (notification: Notification) => void;
	readonly #sessions = new Map<string, Session>();
	/** Notifications of sessions whose id is not known yet, because the reply to their start is pending. */
	readonly #earlyNotifications: Notification[] = [];
	#pendingStarts = 0;

	constructor(rpc: RpcConnection, onNotification: (notification: Notification) => void) {
		this.#rpc = rpc;
		this.#onNotification = onNotification;
	}

	/** Calls the old method and converts its result to the current protocol. */
	async request(method: RequestName, given: unknown): Promise<unknown> {
		const params: unknown = given instanceof JsonParts ? JSON.parse(given.toString()) : given;
		if (method === 'process/start') return this.#start(decode(METHODS[method].params, params));
		if (method === 'process/write') return this.#write(params as {processId: string; chunk: string});
		if (method === 'process/terminate') return this.#terminate(params as {processId: string});
		throw new RpcError(METHOD_NOT_FOUND, `the server speaks the first protocol, which has no ${method}`);
	}

	/** Converts a notification to the current protocol. */
	receive(notification: Notification): void {
		const {method, params} = notification;
		if (method !== 'command/exec/outputDelta' && method !== 'command/exec/exited') return;
		const session = this.#sessions.get((params as {sessionId: string}).sessionId);
		if (!session) {
			if (this.#pendingStarts > 0) this.#earlyNotifications.push(notification);
		} else if (method === 'command/exec/outputDelta') this.#emitOutput(session, params as Delta);
		else this.#emitExit(session, params as Exit);
	}

	async #start({processId, argv, cwd, env, tty, arg0, sandbox}: Params<'process/start'>): Promise<unknown> {
		if (sandbox)
			throw new RpcError(INVALID_PARAMS, 'sandbox intent cannot be enforced on this executor: it is too old');
		this.#pendingStarts++;
		const native = cwd.toNativeString('linux') ?? cwd.href;
		const params = {argv, cwd: native, env, tty, arg0: arg0 ?? null};
		try {
			const result = await this.#rpc.request('command/exec', params);
			const {sessionId} = decode(METHODS['command/exec'].result, result);
			this.#sessions.set(sessionId, {processId, seq: 0});
			return {processId} satisfies ResultOnWire<'process/start'>;
		} finally {
			this.#pendingStarts--;
			for (const notification of this.#earlyNotifications.splice(0)) this.receive(notification);
		}
	}

	async #terminate({processId}: {processId: string}): Promise<unknown> {
		const sessionId = this.#findSessionId(processId);
		return sessionId ? this.#rpc.request('command/exec/terminate', {sessionId}) : {running: false};
	}

	async #write({processId, chunk}: {processId: string; chunk: string}): Promise<ResultOnWire<'process/write'>> {
		const sessionId = this.#findSessionId(processId);
		if (!sessionId) return {status: 'unknownProcess'};
		try {
			await this.#rpc.request('command/exec/write', {sessionId, chunk});
			return {status: 'accepted'};
		} catch (error) {
			const isRefused = error instanceof RpcError && error.code === INVALID_REQUEST;
			if (!isRefused) throw error;
			return {status: STDIN_CLOSED.test(error.message) ? 'stdinClosed' : 'unknownProcess'};
		}
	}

	#emitOutput(session: Session, {stream, chunk}: Delta): void {
		const {processId} = session;
		this.#onNotification({
			kind: 'notification',
			method: 'process/output',
			params: {processId, seq: ++session.seq, stream, chunk},
		});
	}

	#emitExit(session: Session, {sessionId, exitCode}: Exit): void {
		const {processId} = session;
		this.#onNotification({
			kind: 'notification',
			method: 'process/exited',
			params: {processId, seq: ++session.seq, exitCode},
		});
		setTimeout(() => {
			this.#sessions.delete(sessionId);
			this.#onNotification({kind: 'notification', method: 'process/closed', params: {processId, seq: ++session.seq}});
		}, OUTPUT_DRAIN_MS);
	}

	#findSessionId(processId: string): string | undefined {
		for (const [sessionId, session] of this.#sessions) if (session.processId === processId) return sessionId;
		return undefined;
	}
}
