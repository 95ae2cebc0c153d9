import type {BlockDevice, FileBlock, HandleProgress} from '../../filesystem/file-handles.js';
import {findDeclaration} from '../../protocol/methods/method-table.js';
import {ByteBlocks} from '../../protocol/wire/binary-payload.js';
import {encodeWithBytes, JsonParts} from '../../protocol/wire/encode.js';
import type {Notification, Request} from '../../protocol/wire/envelope.js';
import {toBytes} from '../../protocol/wire/fields.js';
import type {RpcConnection} from '../../rpc/rpc-connection.js';
import type {SandboxPlan} from '../../sandbox/plan.js';
import type {FlowControl} from '../connection/flow-control.js';
import type {FsWorker} from './fs-worker.js';
import {FsWorkerPool, type FsWorkerPoolOptions} from './fs-worker-pool.js';

interface Watch {
	readonly worker: FsWorker;
	readonly release: () => void;
}

/** Sandboxed file operations of one connection: relayed to a worker in the sandbox, whose answers are passed on. */
export class SandboxedFiles {
	readonly #connection: RpcConnection;
	readonly #flow: FlowControl;
	readonly #workers: FsWorkerPool;
	readonly #watches = new Map<string, Watch>();
	readonly #searches = new Map<string, FsWorker>();

	constructor(connection: RpcConnection, flow: FlowControl, launch: FsWorkerPoolOptions['launch']) {
		this.#connection = connection;
		this.#flow = flow;
		this.#workers = new FsWorkerPool({
			launch,
			onNotification: (notification, worker) => this.#forwardNotification(notification, worker),
			onClosed: worker => this.#endWatchesOf(worker),
		});
	}

	/** Relays an operation that leaves nothing open. */
	async relay(plan: SandboxPlan, request: Request): Promise<JsonParts | object> {
		const worker = this.#workers.getOrStart(plan);
		const params = toWorkerParams(request);
		const bytes = params instanceof JsonParts ? params.byteLength : 0;
		const answer = await this.#flow.reserveRequest(bytes, () => worker.request(request.method, params));
		this.#applyBackPressure(worker);
		return spliceBytes(answer);
	}

	/** Relays an operation that leaves a handle open; the device has the worker's answer. */
	async open(plan: SandboxPlan, request: Request, handleId: string): Promise<RelayedDevice> {
		const worker = this.#workers.getOrStart(plan);
		const release = worker.hold();
		try {
			return new RelayedDevice(
				worker,
				handleId,
				await worker.request(request.method, toWorkerParams(request)),
				release,
			);
		} catch (error) {
			release();
			throw error;
		}
	}

	async watch(plan: SandboxPlan, request: Request, watchId: string): Promise<object> {
		const worker = this.#workers.getOrStart(plan);
		const release = worker.hold();
		this.#watches.set(watchId, {worker, release});
		try {
			return (await worker.request(request.method, toWorkerParams(request))) as object;
		} catch (error) {
			this.#endWatch(watchId);
			throw error;
		}
	}

	hasWatch(watchId: string): boolean {
		return this.#watches.has(watchId);
	}

	/** No-op for unknown ids: the watch may have ended already. */
	async unwatch(watchId: string): Promise<void> {
		const watch = this.#watches.get(watchId);
		if (!watch) return;
		this.#endWatch(watchId);
		await watch.worker.request('fs/unwatch', {watchId});
	}

	async search(plan: SandboxPlan, request: Request, searchId: string): Promise<object> {
		const worker = this.#workers.getOrStart(plan);
		this.#searches.set(searchId, worker);
		try {
			return (await worker.request(request.method, toWorkerParams(request))) as object;
		} finally {
			this.#searches.delete(searchId);
		}
	}

	hasSearch(searchId: string): boolean {
		return this.#searches.has(searchId);
	}

	async cancelSearch(searchId: string): Promise<void> {
		await this.#searches.get(searchId)?.request('fs/searchCancel', {searchId});
	}

	close(): void {
		this.#workers.close();
	}

	#forwardNotification({method, params}: Notification, worker: FsWorker): void {
		this.#connection.notify(method, params);
		const {watchId, ended} = params as {watchId?: string; ended?: string | null};
		if (method === 'fs/changed' && watchId !== undefined && typeof ended === 'string') this.#endWatch(watchId);
		this.#applyBackPressure(worker);
	}

	/** Pauses reading from the worker while the client does not read. */
	#applyBackPressure(worker: FsWorker): void {
		if (!this.#flow.canSend) void this.#flow.whenWritable().then(worker.holdReading());
	}

	#endWatch(watchId: string): void {
		this.#watches.get(watchId)?.release();
		this.#watches.delete(watchId);
	}

	#endWatchesOf(worker: FsWorker): void {
		for (const [watchId, watch] of this.#watches) {
			if (watch.worker !== worker) continue;
			this.#watches.delete(watchId);
			this.#connection.notify('fs/changed', {watchId, changes: [], overflow: true, ended: 'the fs sandbox ended'});
		}
	}
}

/** A file or a transfer that a worker has open. */
export class RelayedDevice implements BlockDevice {
	/** The worker's answer to the request that opened it. */
	readonly answer: object;
	readonly #worker: FsWorker;
	readonly #handleId: string;
	readonly #release: () => void;

	constructor(worker: FsWorker, handleId: string, answer: unknown, release: () => void) {
		this.answer = answer as object;
		this.#worker = worker;
		this.#handleId = handleId;
		this.#release = release;
	}

	async read(target: Uint8Array, offset: number): Promise<FileBlock> {
		const {chunk, ...block} = (await this.#request('fs/readBlock', {offset, len: target.length})) as Omit<
			FileBlock,
			'length'
		> & {chunk: string | Uint8Array};
		const bytes = toBytes(chunk);
		target.set(bytes);
		return {...block, length: bytes.length};
	}

	async write(chunk: Uint8Array, offset: number): Promise<HandleProgress | undefined> {
		return ((await this.#request('fs/writeBlock', {offset, chunk})) as {progress?: HandleProgress}).progress;
	}

	/** Ends a transfer; the worker's result is passed on. */
	async finish(sha256: string | undefined): Promise<object> {
		return (await this.#request('fs/finish', {sha256})) as object;
	}

	async close(): Promise<void> {
		try {
			await this.#request('fs/close', {});
		} finally {
			this.#release();
		}
	}

	#request(method: string, params: object): Promise<unknown> {
		return this.#worker.request(method, spliceBytes({handleId: this.#handleId, ...params}));
	}
}

/** The params for the worker: without a policy, because it is in the sandbox already. */
function toWorkerParams(request: Request): unknown {
	return spliceBytes({...namedParams(request), sandbox: null});
}

/** The params of a request by name, also when they came by position. */
export function namedParams({method, params}: Request): Record<string, unknown> {
	if (!Array.isArray(params)) return params as Record<string, unknown>;
	const {entries = {}} = (findDeclaration(method)?.params ?? {}) as {entries?: Record<string, unknown>};
	return Object.fromEntries(Object.keys(entries).map((name, index) => [name, params[index] as unknown]));
}

/** Encodes a message to be passed on; a transport may have decoded its base64 to bytes. */
function spliceBytes(message: unknown): JsonParts | object {
	const hasBytes = Object.values(message as object).some(
		member => member instanceof Uint8Array || member instanceof ByteBlocks,
	);
	return hasBytes ? encodeWithBytes(message as object) : (message as object);
}
