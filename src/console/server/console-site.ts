import {randomBytes} from 'node:crypto';
import type {IncomingMessage, ServerResponse} from 'node:http';
import type {Socket} from 'node:net';
import type {HttpSite, PreparedConnection, SiteAdmission} from '../../transports/node/http-site.js';
import {
	CONSOLE_SESSION_MS,
	type ConsoleLogin,
	type ConsoleLogins,
	type ConsoleSession,
	isSameLogin,
} from './console-logins.js';
import {cookieNameOf, isForeign, isOwnPage, readCookie, readLoginBody, securityHeaders} from './console-requests.js';
import type {PageFile} from './page-files.js';
import {RefusedLogins} from './refused-logins.js';

/** Path of the console on a listener. */
export const CONSOLE_PREFIX = '/console';
const PAGE = 'index.html';
const NONCE_MARK = '{{nonce}}';
const NONCE_BYTES = 16;
const JSON_TYPE = 'application/json';
/** Names of files have a digest in them. */
const FOR_EVER = 'public, max-age=31536000, immutable';
const NEVER = 'no-store';
const UNKNOWN_LINK = 'this link was used already, or has expired';
/** A login is not replaced by another one unless the user has agreed: anybody can make a link that logs in. */
const LOGGED_IN_ALREADY = 409;

/** A machine that the page can connect to. */
export interface ConsoleMachine {
	/** Part of a path. */
	readonly id: string;
	readonly name: string;
}

/** The one process and role of a share link. */
export interface ConsoleShare {
	readonly processId: string;
	readonly role: 'observe' | 'drive';
}

/** Rights of a login now. */
export type ConsoleAdmission =
	| {
			readonly kind: 'pass';
			/** Undefined for a login that is good for everything. */
			readonly share?: ConsoleShare | undefined;
			/** Machines that this login may see, where it is not all of them. */
			readonly machines?: readonly ConsoleMachine[] | undefined;
			/** Prepares a connection to a machine, before the browser's own is accepted. Rejects if it cannot be reached. */
			readonly connect: (machineId: string) => Promise<PreparedConnection>;
			/** Whether there may be one more connection. */
			readonly hasRoom: boolean;
	  }
	| {readonly kind: 'refused'; readonly text: string};

export interface ConsoleSiteOptions {
	readonly files: ReadonlyMap<string, PageFile>;
	readonly logins: ConsoleLogins;
	readonly machines: readonly ConsoleMachine[];
	/** Whether the cookie is for TLS only. */
	readonly isSecure: boolean;
	readonly admit: (login: ConsoleLogin) => Promise<ConsoleAdmission>;
	/** Called for every login that is refused. */
	readonly onRefused?: ((request: IncomingMessage, text: string) => void) | undefined;
	/** Slows down those who guess. */
	readonly refusals?: RefusedLogins | undefined;
}

/** The web console: its files, login, and WebSockets for browsers that are logged in. There is no other API. */
export class ConsoleSite implements HttpSite {
	readonly prefix = CONSOLE_PREFIX;
	readonly #options: ConsoleSiteOptions;
	readonly #refusals: RefusedLogins;

	constructor(options: ConsoleSiteOptions) {
		this.#options = options;
		this.#refusals = options.refusals ?? new RefusedLogins();
	}

	async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const path = (request.url ?? '').split('?', 1)[0]!.slice(CONSOLE_PREFIX.length);
		const isPost = request.method === 'POST';
		if (isPost && !isOwnPage(request)) return send(response, 403, 'web pages of other origins are not let in');
		if (isPost && path === '/login') return this.#logIn(request, response);
		if (isPost && path === '/logout') return this.#logOut(request, response);
		if (request.method !== 'GET' && request.method !== 'HEAD') return send(response, 405);
		if (path === '') return redirect(response);
		if (path === '/session') return this.#describeSession(request, response);
		return this.#sendFile(path === '/' ? PAGE : path.slice(1), request, response);
	}

	/** A WebSocket needs the cookie, and has to come from our own page. */
	async admit(request: IncomingMessage): Promise<SiteAdmission> {
		if (!isOwnPage(request)) return {kind: 'refused', status: 403, text: 'web pages of other origins are not let in'};
		const machineId = /^\/console\/ws\/([\w-]+)$/.exec((request.url ?? '').split('?', 1)[0]!)?.[1];
		const session = this.#findSession(request);
		if (!session) return {kind: 'refused', status: 401, text: 'not logged in'};
		const admission = await this.#options.admit(session.login);
		if (admission.kind === 'refused') return {kind: 'refused', status: 401, text: admission.text};
		const machines = admission.machines ?? this.#options.machines;
		const machine = machines.find(({id}) => id === machineId);
		if (!machine) return {kind: 'refused', status: 404, text: ''};
		if (!admission.hasRoom) return {kind: 'refused', status: 503, text: ''};
		try {
			const {accept, withdraw} = await admission.connect(machine.id);
			return {
				kind: 'pass',
				withdraw,
				accept: (transport, user) => {
					endWithSession(session, request.socket);
					accept(transport, user);
				},
			};
		} catch {
			// The reason may hold addresses; the program that serves the console tells its user.
			return {kind: 'refused', status: 502, text: 'the machine cannot be reached'};
		}
	}

	/** Ends the sessions of tokens that are no longer good. */
	recheck(): Promise<void> {
		const {logins, admit} = this.#options;
		return logins.recheck(async login => (await admit(login)).kind === 'pass');
	}

	async #logIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const {logins, admit} = this.#options;
		const body = await readLoginBody(request);
		const login = this.#readLogin(body);
		const admission = login && (await admit(login));
		if (admission?.kind === 'refused') return this.#refuseLogin(request, response, admission.text);
		if (!login) return this.#refuseLogin(request, response);
		const other = await this.#findOtherLogin(request, login);
		if (other !== undefined && body?.['replace'] !== true) {
			return send(response, LOGGED_IN_ALREADY, 'this browser is logged in already, with another login');
		}
		// A link is used up last: a refusal leaves it good.
		if (typeof body?.['link'] === 'string' && !logins.useLink(body['link']))
			return this.#refuseLogin(request, response);
		if (other !== undefined) logins.close(other);
		return this.#openSession(request, response, login);
	}

	/** A right secret is never refused for the wrong ones of others; only the answers to wrong ones are delayed and limited. */
	async #refuseLogin(request: IncomingMessage, response: ServerResponse, text = UNKNOWN_LINK): Promise<void> {
		if (this.#refusals.isFull) return send(response, 429, 'too many logins were refused: try again in a moment');
		this.#options.onRefused?.(request, text);
		await this.#refusals.delay();
		return send(response, 401, text);
	}

	/** The cookie of this browser if it is logged in with another login that is still good. */
	async #findOtherLogin(request: IncomingMessage, login: ConsoleLogin): Promise<string | undefined> {
		const cookie = readCookie(request);
		const session = this.#findSession(request);
		if (cookie === undefined || !session || isSameLogin(session.login, login)) return undefined;
		return (await this.#options.admit(session.login)).kind === 'pass' ? cookie : undefined;
	}

	#openSession(request: IncomingMessage, response: ServerResponse, login: ConsoleLogin): void {
		const {logins, isSecure} = this.#options;
		const seconds = Math.floor(CONSOLE_SESSION_MS / 1000);
		const cookie = `${cookieNameOf(request)}=${logins.open(login)}`;
		const attributes = `Path=${CONSOLE_PREFIX}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
		response.setHeader('set-cookie', `${cookie}; ${attributes}`);
		return send(response, 204);
	}

	#readLogin(body: Readonly<Record<string, unknown>> | undefined): ConsoleLogin | undefined {
		const {link, token} = body ?? {};
		if (typeof link === 'string') return this.#options.logins.hasLink(link) ? {kind: 'owner'} : undefined;
		return typeof token === 'string' ? {kind: 'token', token} : undefined;
	}

	#logOut(request: IncomingMessage, response: ServerResponse): void {
		const cookie = readCookie(request);
		if (cookie !== undefined) this.#options.logins.close(cookie);
		response.setHeader('set-cookie', `${cookieNameOf(request)}=; Path=${CONSOLE_PREFIX}; Max-Age=0; HttpOnly`);
		send(response, 204);
	}

	async #describeSession(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const session = isForeign(request) ? undefined : this.#findSession(request);
		const admission = session && (await this.#options.admit(session.login));
		if (admission?.kind !== 'pass') return send(response, 401, admission?.text ?? 'not logged in');
		const machines = admission.machines ?? this.#options.machines;
		return send(response, 200, JSON.stringify({machines, share: admission.share ?? null}), JSON_TYPE);
	}

	#findSession(request: IncomingMessage): ConsoleSession | undefined {
		const cookie = readCookie(request);
		return cookie === undefined ? undefined : this.#options.logins.find(cookie);
	}

	#sendFile(name: string, request: IncomingMessage, response: ServerResponse): void {
		const file = this.#options.files.get(name);
		if (!file) return send(response, 404);
		const nonce = createNonce();
		const isPage = name === PAGE;
		const isCompressed = !isPage && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
		const plain = isCompressed ? file.compressed : file.plain();
		const body = isPage ? Buffer.from(plain.toString('utf8').replaceAll(NONCE_MARK, nonce)) : plain;
		response.writeHead(200, {
			...securityHeaders(nonce),
			'content-type': file.type,
			'content-length': body.length,
			'cache-control': isPage ? NEVER : FOR_EVER,
			...(isCompressed && {'content-encoding': 'gzip'}),
			vary: 'accept-encoding',
		});
		response.end(request.method === 'HEAD' ? undefined : body);
	}
}

/** The connection is over when the session is, and is forgotten when it ends by itself. */
function endWithSession({connections}: ConsoleSession, socket: Socket): void {
	const forget = connections.add(() => void socket.destroy());
	socket.once('close', forget);
}

function redirect(response: ServerResponse): void {
	response
		.writeHead(308, {...securityHeaders(createNonce()), location: `${CONSOLE_PREFIX}/`, 'content-length': 0})
		.end();
}

function send(response: ServerResponse, status: number, text = '', type = 'text/plain; charset=utf-8'): void {
	response.writeHead(status, {
		...securityHeaders(createNonce()),
		'content-type': type,
		'content-length': Buffer.byteLength(text),
		'cache-control': NEVER,
	});
	response.end(text);
}

function createNonce(): string {
	return randomBytes(NONCE_BYTES).toString('base64url');
}
