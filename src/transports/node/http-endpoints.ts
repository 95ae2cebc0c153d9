import type {IncomingMessage, ServerResponse} from 'node:http';
import type {Socket} from 'node:net';

/** Response of a page. */
export interface HttpPage {
	readonly type: string;
	readonly body: string;
}

/** Answer to a request that is not served. */
export interface Refusal {
	readonly status: number;
	readonly text: string;
}

/** Pages besides the protocol, and who may request them. */
export interface HttpEndpoints {
	/** Paths of the protocol itself. */
	readonly paths: ReadonlySet<string>;
	readonly pages: Readonly<Record<string, () => HttpPage | Promise<HttpPage>>>;
	readonly origins: ReadonlySet<string>;
	/** Whether a `Host` header names this server. */
	readonly isKnownHost: (header: string | undefined, socket: Socket) => boolean;
	/** Whether clients may come; `/readyz` answers 503 otherwise. */
	readonly isOpen: () => boolean;
	/** Called for every request that is refused. */
	readonly onRefused: (request: IncomingMessage, refusal: Refusal) => void;
	/** Undefined lets the request see the pages; otherwise why not. */
	readonly refusal: (request: IncomingMessage) => Promise<Refusal | undefined>;
}

const TEXT = 'text/plain; charset=utf-8';
/** The request was meant for another server. */
export const UNKNOWN_HOST = 421;
/** Answer of `/readyz` when no more clients are taken. */
const NOT_READY = 503;
const REASONS: Readonly<Record<number, string>> = {
	[UNKNOWN_HOST]: 'this server is not known by the name in the Host header; see --allow-host',
};
const UPGRADE_KEY = /^[+/0-9A-Za-z]{22}==$/;
/** The one version of the WebSocket protocol that became a standard. */
export const WEB_SOCKET_VERSION = '13';

/** Answers everything that does not become a WebSocket. Only `/readyz` tells nothing about the work and stays open. */
export async function answerHttpRequest(
	request: IncomingMessage,
	response: ServerResponse,
	site: HttpEndpoints,
): Promise<void> {
	const status = httpStatusOf(request, false, site) ?? 400;
	const page = status === 200 ? site.pages[pathOf(request)] : undefined;
	if (!page) {
		const text = reasonOf(status);
		if (status !== NOT_READY) site.onRefused(request, {status, text});
		response.writeHead(status, {'content-length': Buffer.byteLength(text)}).end(text);
		return;
	}
	const refusal = await site.refusal(request);
	if (refusal) site.onRefused(request, refusal);
	const {type, body} = refusal ? {type: TEXT, body: refusal.text} : await page();
	response.writeHead(refusal?.status ?? 200, {'content-type': type, 'content-length': Buffer.byteLength(body)});
	response.end(request.method === 'HEAD' ? undefined : body);
}

/** The status to answer with; undefined lets an upgrade through. */
export function httpStatusOf(
	request: IncomingMessage,
	upgrade: boolean,
	{paths, pages, origins, isKnownHost, isOpen}: HttpEndpoints,
): number | undefined {
	const {method, headers, socket} = request;
	const path = pathOf(request);
	if (headers.origin !== undefined && !origins.has(headers.origin)) return 403;
	const isReadiness = path === '/readyz';
	if (!isReadiness && !isKnownHost(headers.host, socket)) return UNKNOWN_HOST;
	if (isReadiness || Object.hasOwn(pages, path)) {
		if (method !== 'GET' && method !== 'HEAD') return 405;
		return isReadiness && !isOpen() ? NOT_READY : 200;
	}
	if (!paths.has(path)) return 404;
	if (method !== 'GET') return 405;
	return upgrade ? upgradeStatusOf(request) : 400;
}

/** The status to answer an upgrade request with that is none; undefined for one that is. */
export function upgradeStatusOf(request: IncomingMessage): number | undefined {
	if (request.method !== 'GET' || !isUpgrade(request)) return 400;
	return request.headers['sec-websocket-version'] === WEB_SOCKET_VERSION ? undefined : 426;
}

/** Text that goes with a status; most need none. */
export function reasonOf(status: number): string {
	return REASONS[status] ?? '';
}

/** The library checks the same, but later than an answer about tokens may be given. */
function isUpgrade({headers}: IncomingMessage): boolean {
	return headers.upgrade?.toLowerCase() === 'websocket' && UPGRADE_KEY.test(headers['sec-websocket-key'] ?? '');
}

function pathOf({url = ''}: IncomingMessage): string {
	return url.split('?', 1)[0]!;
}
