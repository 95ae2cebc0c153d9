import {METHODS, type Params, type RequestName, type ResultOnWire} from '../../../protocol/methods/method-table.js';
import {decode} from '../../../protocol/wire/decode.js';
import {JsonParts} from '../../../protocol/wire/encode.js';
import type {Notification} from '../../../protocol/wire/envelope.js';
import {INVALID_REQUEST, METHOD_NOT_FOUND, RpcError} from '../../../protocol/wire/error-codes.js';
import type {RpcConnection} from '../../../rpc/rpc-connection.js';

/** The first protocol does not tell when output is over: nothing more is expected this long after the exit. */
const LAST_OUTPUT_MS = 250;
const STDIN_CLOSED = /^stdin is closed/;

interface Session {
	readonly processId: string;
	seq: number;
}

type Delta = Params<'command/exec/outputDelta'>;
type Exit = Params<'command/exec/exited'>;

/**
 * Speaks of processes to a server of the first protocol, which names them itself and numbers nothing. There is no
 * replay, no signal and no session to resume.
 */
export class V0Processes {
	readonly #rpc: RpcConnection;
	readonly #notified: (notification: Notification) => void;
	readonly #sessions = new Map<string, Session>();
	/** Of sessions whose name is not known yet: the answer to their start is on its way. */
	readonly #early: Notification[] = [];
	#starting = 0;

	constructor(rpc: RpcConnection, notified: (notification: Notification) => void) {
		this.#rpc = rpc;
		this.#notified = notified;
	}

	/** The result of a method as a newer server would give it. */
	async request(method: RequestName, given: unknown): Promise<unknown> {
		const params: unknown = given instanceof JsonParts ? JSON.parse(given.toString()) : given;
		if (method === 'process/start') return this.#start(decode(METHODS[method].params, params));
		if (method === 'process/write') return this.#write(params as {processId: string; chunk: string});
		if (method === 'process/terminate') return this.#terminate(params as {processId: string});
		throw new RpcError(METHOD_NOT_FOUND, `the server speaks the first protocol, which has no ${method}`);
	}

	/** What the server tells, as a newer one would tell it. */
	hear(notification: Notification): void {
		const {method, params} = notification;
		if (method !== 'command/exec/outputDelta' && method !== 'command/exec/exited') return;
		const session = this.#sessions.get((params as {sessionId: string}).sessionId);
		if (!session) {
			if (this.#starting > 0) this.#early.push(notification);
		} else if (method === 'command/exec/outputDelta') this.#tellOutput(session, params as Delta);
		else this.#tellExit(session, params as Exit);
	}

	async #start({processId, argv, cwd, env, tty, arg0}: Params<'process/start'>): Promise<unknown> {
		this.#starting++;
		const native = cwd.toNativeString('linux') ?? cwd.href;
		const params = {argv, cwd: native, env, tty, arg0: arg0 ?? null};
		try {
			const result = await this.#rpc.request('command/exec', params);
			const {sessionId} = decode(METHODS['command/exec'].result, result);
			this.#sessions.set(sessionId, {processId, seq: 0});
			return {processId} satisfies ResultOnWire<'process/start'>;
		} finally {
			this.#starting--;
			for (const notification of this.#early.splice(0)) this.hear(notification);
		}
	}

	async #terminate({processId}: {processId: string}): Promise<unknown> {
		const sessionId = this.#idOf(processId);
		return sessionId ? this.#rpc.request('command/exec/terminate', {sessionId}) : {running: false};
	}

	async #write({processId, chunk}: {processId: string; chunk: string}): Promise<ResultOnWire<'process/write'>> {
		const sessionId = this.#idOf(processId);
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

	#tellOutput(session: Session, {stream, chunk}: Delta): void {
		const {processId} = session;
		this.#notified({
			kind: 'notification',
			method: 'process/output',
			params: {processId, seq: ++session.seq, stream, chunk},
		});
	}

	#tellExit(session: Session, {sessionId, exitCode}: Exit): void {
		const {processId} = session;
		this.#notified({kind: 'notification', method: 'process/exited', params: {processId, seq: ++session.seq, exitCode}});
		setTimeout(() => {
			this.#sessions.delete(sessionId);
			this.#notified({kind: 'notification', method: 'process/closed', params: {processId, seq: ++session.seq}});
		}, LAST_OUTPUT_MS);
	}

	#idOf(processId: string): string | undefined {
		for (const [sessionId, session] of this.#sessions) if (session.processId === processId) return sessionId;
		return undefined;
	}
}
