import type {IncomingMessage, ServerResponse} from 'node:http';
import type {Transport} from '../transport.js';

/** A connection that was prepared for a client before its own is accepted. Exactly one of the two is called. */
export interface PreparedConnection {
	readonly accept: (transport: Transport, user?: number) => void;
	/** Releases what was prepared, because the client's connection was refused or abandoned. */
	readonly withdraw: () => void;
}

/** Whether an upgrade request below the prefix of a site becomes a connection. */
export type SiteAdmission =
	| ({readonly kind: 'pass'} & PreparedConnection)
	| {readonly kind: 'refused'; readonly status: number; readonly text: string};

/**
 * Pages and WebSockets of their own below one prefix of a listener. `Host` header and user of the other end are checked
 * before; origin and credentials are the site's to check.
 */
export interface HttpSite {
	/** Begins with a slash and ends without one. */
	readonly prefix: string;
	answer(request: IncomingMessage, response: ServerResponse): Promise<void>;
	admit(request: IncomingMessage): Promise<SiteAdmission>;
}

/** Whether a request is for the site. */
export function isForSite({prefix}: HttpSite, {url = ''}: IncomingMessage): boolean {
	return url === prefix || url.startsWith(`${prefix}/`) || url.startsWith(`${prefix}?`);
}
