import type {IncomingMessage, ServerResponse} from 'node:http';

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
	readonly pages: Readonly<Record<string, () => HttpPage | Promise<HttpPage>>>;
	readonly origins: ReadonlySet<string>;
	/** Undefined lets the request see the pages; otherwise why not. */
	readonly refusal: (request: IncomingMessage) => Promise<Refusal | undefined>;
}

const TEXT = 'text/plain; charset=utf-8';
const UPGRADE_KEY = /^[+/0-9A-Za-z]{22}==$/;
const UPGRADE_VERSIONS: readonly unknown[] = ['13', '8'];

/** Answers everything that does not become a WebSocket. Only `/readyz` tells nothing about the work and stays open. */
export async function answerHttpRequest(
	request: IncomingMessage,
	response: ServerResponse,
	site: HttpEndpoints,
): Promise<void> {
	const status = httpStatusOf(request, false, site) ?? 400;
	const page = status === 200 ? site.pages[pathOf(request)] : undefined;
	if (!page) {
		response.writeHead(status, {'content-length': 0}).end();
		return;
	}
	const refusal = await site.refusal(request);
	const {type, body} = refusal ? {type: TEXT, body: refusal.text} : await page();
	response.writeHead(refusal?.status ?? 200, {'content-type': type, 'content-length': Buffer.byteLength(body)});
	response.end(request.method === 'HEAD' ? undefined : body);
}

/** The status to answer with; undefined lets an upgrade through. */
export function httpStatusOf(
	request: IncomingMessage,
	upgrade: boolean,
	{pages, origins}: HttpEndpoints,
): number | undefined {
	const {method, headers} = request;
	const path = pathOf(request);
	if (headers.origin !== undefined && !origins.has(headers.origin)) return 403;
	if (path === '/readyz' || Object.hasOwn(pages, path)) return method === 'GET' || method === 'HEAD' ? 200 : 405;
	if (path !== '/') return 404;
	if (method !== 'GET') return 405;
	return upgrade && isUpgrade(request) ? undefined : 400;
}

/** The library checks the same, but later than an answer about tokens may be given. */
function isUpgrade({headers}: IncomingMessage): boolean {
	return (
		headers.upgrade?.toLowerCase() === 'websocket' &&
		UPGRADE_KEY.test(headers['sec-websocket-key'] ?? '') &&
		UPGRADE_VERSIONS.includes(headers['sec-websocket-version'])
	);
}

function pathOf({url = ''}: IncomingMessage): string {
	return url.split('?', 1)[0]!;
}
