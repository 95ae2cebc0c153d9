import {createHmac, randomBytes, timingSafeEqual} from 'node:crypto';
import {DEFAULT_TENANT} from '../store/hub-records.js';

/** Upstream's names of the two ends of a relay, and `plain` for an executor of its first versions, which knows no relay. */
export type RelayRole = 'environment' | 'harness' | 'plain';

/**
 * How long a ticket opens a socket. An upstream executor opens the same one again after every loss, also when the hub was away:
 * it would wait once more after a refusal. A ticket is part of a URL, which ends up in the logs of proxies, so the socket of an
 * executor has to prove its key unless the ticket is fresh and is used for the first time.
 */
export const TICKET_MS: Readonly<Record<RelayRole, number>> = {
	environment: 30 * 24 * 60 * 60_000,
	harness: 60_000,
	plain: 60_000,
};
/** Time after its signing in which the first use of a ticket proves enough. */
export const FRESH_TICKET_MS = 60_000;
/** Difference between the clocks of two nodes that is tolerated. */
export const MAX_CLOCK_SKEW_MS = 60_000;
const NONCE_BYTES = 16;

export interface Ticket {
	readonly role: RelayRole;
	readonly tenant: string;
	readonly environmentId: string;
	readonly registrationId: string;
	/** Id of the token it was given for: a revoked one takes its tickets with it. */
	readonly tokenId: string;
	/** Tells tickets apart, so that uses can be remembered. */
	readonly nonce: string;
	/** Milliseconds since the epoch: a ticket outlives the program that signed it. */
	readonly expiresAt: number;
}

export type TicketRequest = Pick<Ticket, 'role' | 'tenant' | 'environmentId' | 'registrationId' | 'tokenId'>;

export function createNonce(): string {
	return randomBytes(NONCE_BYTES).toString('hex');
}

/** Whether a ticket was signed a moment ago. One from the future counts as old: its use would be forgotten too early. */
export function isFreshTicket({role, expiresAt}: Ticket): boolean {
	const ageMs = Date.now() - (expiresAt - TICKET_MS[role]);
	return ageMs <= FRESH_TICKET_MS && ageMs >= -MAX_CLOCK_SKEW_MS;
}

/** Query of a URL that lets one end of a registration in, signed so that nothing has to be remembered. */
export function signTicket(secret: Uint8Array, given: TicketRequest, nonce = createNonce()): string {
	const ticket = {...given, nonce, expiresAt: Date.now() + TICKET_MS[given.role]};
	return new URLSearchParams({
		role: ticket.role,
		...(ticket.tenant !== DEFAULT_TENANT && {tenant: ticket.tenant}),
		id: ticket.environmentId,
		registration: ticket.registrationId,
		token: ticket.tokenId,
		nonce: ticket.nonce,
		expires: String(ticket.expiresAt),
		sig: signatureOf(secret, ticket).toString('base64url'),
	}).toString();
}

export type TicketFault = 'missing_role' | 'malformed_query' | 'invalid_signature' | 'expired';

/** The ticket of a query, or why it is none, in the words upstream has for it. */
export function readTicket(secret: Uint8Array, query: URLSearchParams): Ticket | TicketFault {
	const role = query.get('role');
	if (role !== 'environment' && role !== 'harness' && role !== 'plain') return 'missing_role';
	const values = ['id', 'registration', 'token', 'nonce', 'expires', 'sig'].map(name => query.get(name));
	const [environmentId, registrationId, tokenId, nonce, expires, signature] = values;
	const tenant = query.get('tenant') ?? DEFAULT_TENANT;
	const known = values.length + 1 + (query.has('tenant') ? 1 : 0);
	if (values.includes(null) || [...query.keys()].length !== known) return 'malformed_query';
	const ticket = {
		role,
		tenant,
		environmentId: environmentId!,
		registrationId: registrationId!,
		tokenId: tokenId!,
		nonce: nonce!,
		expiresAt: Number(expires),
	} as const;
	const given = Buffer.from(signature!, 'base64url');
	const right = signatureOf(secret, ticket);
	if (given.length !== right.length || !timingSafeEqual(given, right)) return 'invalid_signature';
	return ticket.expiresAt > Date.now() ? ticket : 'expired';
}

function signatureOf(secret: Uint8Array, ticket: Ticket): Buffer {
	const {role, tenant, environmentId, registrationId, tokenId, nonce, expiresAt} = ticket;
	// Tickets that were signed before there were tenants are those of the default one.
	const scope = tenant === DEFAULT_TENANT ? [] : [tenant];
	const signed = JSON.stringify([role, environmentId, registrationId, tokenId, nonce, expiresAt, ...scope]);
	return createHmac('sha256', secret).update(signed).digest();
}
