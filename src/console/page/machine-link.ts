import {type Signal, signal} from '@preact/signals';
import {RemoteFiles} from '../../client/files/remote/remote-files.js';
import {RemoteHttp} from '../../client/http/remote-http.js';
import {LazyClient} from '../../client/session/lazy-client.js';
import type {SessionClient} from '../../client/session/session-client.js';
import {connectStandardWebSocket} from '../../transports/standard-web-socket.js';
import {login, type PageMachine, readSession} from './login-state.js';
import {toErrorText} from './shown-text.js';

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 8000;
const TAG_KEY = 'longarm-tab';
const TAG_LENGTH = 4;

export type LinkState =
	| {readonly kind: 'connecting'}
	| {readonly kind: 'ready'}
	/** It is tried again, by itself. */
	| {readonly kind: 'disconnected'; readonly reason: string};

/** The connection to one machine. It is made again for as long as the page is open. */
export class MachineLink {
	readonly id: string;
	readonly name: string;
	readonly key: string;
	readonly state: Signal<LinkState> = signal<LinkState>({kind: 'connecting'});
	readonly files: RemoteFiles;
	readonly http: RemoteHttp;
	readonly #lazy: LazyClient;
	#connected: Promise<SessionClient> | undefined;
	#wake: (() => void) | undefined;

	constructor({id, name, key}: PageMachine) {
		this.id = id;
		this.name = name;
		this.key = key;
		const url = new URL(`ws/${encodeURIComponent(id)}`, location.href.split('#', 1)[0]!.replace(/^http/, 'ws')).href;
		this.#lazy = new LazyClient(abort => connectStandardWebSocket(url, {signal: abort}), {clientName: clientName()});
		this.#lazy.onDisconnect((error, recovered) => {
			this.state.value = {kind: 'disconnected', reason: toErrorText(error)};
			// It may be because the login is over, and then nothing of the machine is shown any longer.
			void readSession();
			void this.#await(recovered);
		});
		this.files = new RemoteFiles(() => this.client());
		this.http = new RemoteHttp(() => this.client());
		addEventListener('online', () => this.#wake?.());
		document.addEventListener('visibilitychange', () => this.#wake?.());
	}

	/** The connected client; waits as long as it takes. */
	client(): Promise<SessionClient> {
		this.#connected ??= this.#connect();
		return this.#connected;
	}

	async #await(recovered: Promise<void>): Promise<void> {
		try {
			await recovered;
			this.state.value = {kind: 'ready'};
		} catch {
			// The session is lost: the next one begins anew.
			this.#connected = undefined;
			await this.client();
		}
	}

	async #connect(): Promise<SessionClient> {
		for (let delay = FIRST_RETRY_MS; ; delay = Math.min(2 * delay, MAX_RETRY_MS)) {
			try {
				const client = await this.#lazy.client();
				this.state.value = {kind: 'ready'};
				return client;
			} catch (error) {
				this.state.value = {kind: 'disconnected', reason: toErrorText(error)};
				// A browser does not tell a page why a WebSocket was refused.
				await readSession();
				await this.#pause(delay);
			}
		}
	}

	/** Ends early when the page is shown again, or the network is back. */
	#pause(ms: number): Promise<void> {
		return new Promise(resolve => {
			const timer = setTimeout(resolve, ms);
			this.#wake = () => {
				clearTimeout(timer);
				resolve();
			};
		});
	}
}

const links = new Map<string, MachineLink>();

/** The link to a machine that the server of the console has named; by its key or its id. */
export function linkTo(key: string): MachineLink | undefined {
	const {value} = login;
	const machines = value.kind === 'ready' ? value.machines : [];
	const machine = machines.find(each => each.key === key) ?? machines.find(each => each.id === key);
	if (!machine) return undefined;
	let link = links.get(machine.key);
	if (!link) {
		link = new MachineLink(machine);
		links.set(machine.key, link);
	}
	return link;
}

/** Name of this tab for other clients of a process. */
export function clientName(): string {
	const known = sessionStorage.getItem(TAG_KEY);
	const tag = known ?? crypto.randomUUID().slice(0, TAG_LENGTH);
	sessionStorage.setItem(TAG_KEY, tag);
	return `web console ${tag}`;
}
