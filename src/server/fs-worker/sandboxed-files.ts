import type {Block, BlockDevice, Progress} from '../../filesystem/file-handles.js';
import {JsonParts} from '../../protocol/wire/encode.js';
import type {Notification, Request} from '../../protocol/wire/envelope.js';
import {toBytes} from '../../protocol/wire/fields.js';
import type {RpcConnection} from '../../rpc/rpc-connection.js';
import type {SandboxPlan} from '../../sandbox/plan.js';
import type {Room} from '../connection/flow-control.js';
import type {Twin} from './fs-worker.js';
import type {Twins, TwinsOptions} from './fs-worker-pool.js';
import {namedParams, withBulk} from './relayed-json.js';

export type CreateTwins = (events: Pick<TwinsOptions, 'notified' | 'closed'>) => Twins;

interface Watch {
	readonly twin: Twin;
	readonly release: () => void;
}

/** The file operations of one connection that run in a sandbox: handed to a twin in it, answered as the twin answers. */
export class SandboxedFiles {
	readonly #connection: RpcConnection;
	readonly #room: Room;
	readonly #twins: Twins;
	readonly #watches = new Map<string, Watch>();
	readonly #searches = new Map<string, Twin>();

	constructor(connection: RpcConnection, room: Room, createTwins: CreateTwins) {
		this.#connection = connection;
		this.#room = room;
		this.#twins = createTwins({
			notified: (notification, twin) => this.#tell(notification, twin),
			closed: twin => this.#lost(twin),
		});
	}

	/** An operation that is over with its answer. */
	async relay(plan: SandboxPlan, request: Request): Promise<JsonParts | object> {
		const twin = this.#twins.of(plan);
		const params = paramsOf(request);
		const held = params instanceof JsonParts ? params.byteLength : 0;
		const answer = await this.#room.request(held, () => twin.request(request.method, params));
		this.#keepPace(twin);
		return withBulk(answer);
	}

	/** An operation that leaves a handle open, and what it answered. */
	async open(plan: SandboxPlan, request: Request, handleId: string): Promise<RelayedDevice> {
		const twin = this.#twins.of(plan);
		const release = twin.hold();
		try {
			return new RelayedDevice(twin, handleId, await twin.request(request.method, paramsOf(request)), release);
		} catch (error) {
			release();
			throw error;
		}
	}

	async watch(plan: SandboxPlan, request: Request, watchId: string): Promise<object> {
		const twin = this.#twins.of(plan);
		const release = twin.hold();
		this.#watches.set(watchId, {twin, release});
		try {
			return (await twin.request(request.method, paramsOf(request))) as object;
		} catch (error) {
			this.#endWatch(watchId);
			throw error;
		}
	}

	hasWatch(watchId: string): boolean {
		return this.#watches.has(watchId);
	}

	/** Unknown ids have ended already. */
	async unwatch(watchId: string): Promise<void> {
		const watch = this.#watches.get(watchId);
		if (!watch) return;
		this.#endWatch(watchId);
		await watch.twin.request('fs/unwatch', {watchId});
	}

	async search(plan: SandboxPlan, request: Request, searchId: string): Promise<object> {
		const twin = this.#twins.of(plan);
		this.#searches.set(searchId, twin);
		try {
			return (await twin.request(request.method, paramsOf(request))) as object;
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
		this.#twins.close();
	}

	#tell({method, params}: Notification, twin: Twin): void {
		this.#connection.notify(method, params);
		const {watchId, ended} = params as {watchId?: string; ended?: string | null};
		if (method === 'fs/changed' && watchId !== undefined && typeof ended === 'string') this.#endWatch(watchId);
		this.#keepPace(twin);
	}

	/** While the client does not read, nothing more is taken from the twin. */
	#keepPace(twin: Twin): void {
		if (!this.#room.isOpen) void this.#room.opened().then(twin.holdReading());
	}

	#endWatch(watchId: string): void {
		this.#watches.get(watchId)?.release();
		this.#watches.delete(watchId);
	}

	#lost(twin: Twin): void {
		for (const [watchId, watch] of this.#watches) {
			if (watch.twin !== twin) continue;
			this.#watches.delete(watchId);
			this.#connection.notify('fs/changed', {watchId, changes: [], overflow: true, ended: 'the fs sandbox ended'});
		}
	}
}

/** A file or a transfer that a twin has open. */
export class RelayedDevice implements BlockDevice {
	/** What the twin answered when it was opened. */
	readonly answer: object;
	readonly #twin: Twin;
	readonly #handleId: string;
	readonly #release: () => void;

	constructor(twin: Twin, handleId: string, answer: unknown, release: () => void) {
		this.answer = answer as object;
		this.#twin = twin;
		this.#handleId = handleId;
		this.#release = release;
	}

	async read(target: Uint8Array, offset: number): Promise<Block> {
		const {chunk, ...block} = (await this.#request('fs/readBlock', {offset, len: target.length})) as Omit<
			Block,
			'length'
		> & {chunk: string | Uint8Array};
		const bytes = toBytes(chunk);
		target.set(bytes);
		return {...block, length: bytes.length};
	}

	async write(chunk: Uint8Array, offset: number): Promise<Progress | undefined> {
		return ((await this.#request('fs/writeBlock', {offset, chunk})) as {progress?: Progress}).progress;
	}

	/** What the twin says about the end of a transfer. */
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
		return this.#twin.request(method, withBulk({handleId: this.#handleId, ...params}));
	}
}

/** The twin is in the sandbox already. */
function paramsOf(request: Request): unknown {
	return withBulk({...namedParams(request), sandbox: null});
}
