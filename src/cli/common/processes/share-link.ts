import {isServerUrl} from '../../../transports/node/registry.js';
import {usageError} from '../../exit-codes.js';

/** Address of a server, a process of it, and the token that is good for that process only. */
export interface ShareLink {
	/** Without the secret. */
	readonly url: string;
	readonly processId: string;
	/** Shown nowhere. */
	readonly token: string;
}

const FORM = 'URL#share=TOKEN&process=ID';

/** The secret is in the fragment, which programs that follow a link do not send. */
export function formatShareLink({url, processId, token}: ShareLink): string {
	return `${url}#${new URLSearchParams({share: token, process: processId}).toString()}`;
}

/** The same link for a browser, on a server that has the web console. */
export function formatConsoleLink({url, processId, token}: ShareLink): string {
	const page = `${url.replace(/^ws/, 'http').replace(/\/$/, '')}/console/`;
	return formatShareLink({url: page, processId, token});
}

/** Undefined for a text that is no link. Errors do not repeat it: it may hold a secret. */
export function parseShareLink(text: string): ShareLink | undefined {
	const [, url, fragment] = /^([^#]*)#(.*)$/s.exec(text.trim()) ?? [];
	if (url === undefined || !isServerUrl(url)) return undefined;
	const members = new URLSearchParams(fragment);
	const [token, processId] = [members.get('share'), members.get('process')];
	if (token && processId) return {url, processId, token};
	throw usageError(`the link is incomplete; links of longarm share look like ${FORM}`);
}
