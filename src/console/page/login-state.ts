import {signal} from '@preact/signals';
import {toErrorText} from './shown-text.js';

const LOGGED_IN_ALREADY = 409;

/** A machine, as the server of the console names it. */
export interface PageMachine {
	readonly id: string;
	readonly name: string;
	/** Identifies the machine in addresses of this page: its name, or its id if another machine has the same name. */
	readonly key: string;
}

export interface SharedView {
	readonly processId: string;
	readonly role: 'observe' | 'drive';
}

export type LoginState =
	| {readonly kind: 'loading'}
	| {readonly kind: 'anonymous'; readonly reason?: string | undefined}
	/** The browser is logged in, and a link asks for another login. */
	| {readonly kind: 'asking'; readonly secret: Secret}
	| {readonly kind: 'ready'; readonly machines: readonly PageMachine[]; readonly share: SharedView | null};

export const login = signal<LoginState>({kind: 'loading'});

/** Uses the secret of a link, which leaves the address at once, and asks who is logged in. */
export async function beginSession(): Promise<void> {
	const secret = takeSecret();
	const answer = secret && (await postLogin(secret));
	if (secret && answer?.kind === 'conflict') login.value = {kind: 'asking', secret};
	// A tab that is logged in already may follow an old link.
	else await readSession(answer?.kind === 'refused' ? answer.reason : undefined);
}

/** Logs in by the link that was opened, and ends the login that this browser has. */
export async function replaceLogin(secret: Secret): Promise<void> {
	const answer = await postLogin(secret, {replace: true});
	await readSession(answer.kind === 'refused' ? answer.reason : undefined);
}

/** Logs in by a token, or by a link that was pasted. */
export async function logInWith(text: string): Promise<void> {
	const fragment = text.includes('#') ? new URLSearchParams(text.slice(text.indexOf('#') + 1)) : undefined;
	const answer = await postLogin(toSecret(fragment) ?? {token: text.trim()}, {replace: true});
	if (answer.kind === 'refused') login.value = {kind: 'anonymous', reason: answer.reason};
	else await readSession();
}

export async function logOut(): Promise<void> {
	await fetch('logout', {method: 'POST'}).catch(() => undefined);
	login.value = {kind: 'anonymous'};
}

/** Asks again whether this browser is logged in; keeps what is known while the server cannot be reached. */
export async function readSession(reason?: string): Promise<void> {
	try {
		const answer = await fetch('session', {cache: 'no-store'});
		if (answer.ok) {
			const {machines, share} = (await answer.json()) as {machines: NamedMachine[]; share: SharedView | null};
			if (login.value.kind !== 'ready') login.value = {kind: 'ready', machines: withKeys(machines), share};
		} else if (answer.status === 401) {
			const why = login.value.kind === 'ready' ? 'This browser is no longer logged in.' : undefined;
			login.value = {kind: 'anonymous', reason: reason ?? why};
		}
	} catch (error) {
		if (login.value.kind === 'loading') login.value = {kind: 'anonymous', reason: toErrorText(error)};
	}
}

type NamedMachine = Omit<PageMachine, 'key'>;

function withKeys(machines: readonly NamedMachine[]): PageMachine[] {
	const isUnique = (wanted: string): boolean =>
		machines.filter(({id, name}) => name === wanted || id === wanted).length === 1;
	return machines.map(({id, name}) => ({id, name, key: isUnique(name) ? name : id}));
}

export type Secret = {readonly link: string} | {readonly token: string};

/** The secret in the fragment, which is removed from the address and from the history of the browser. */
function takeSecret(): Secret | undefined {
	const secret = toSecret(new URLSearchParams(location.hash.slice(1)));
	if (secret) history.replaceState(null, '', `${location.pathname}#/`);
	return secret;
}

function toSecret(members: URLSearchParams | undefined): Secret | undefined {
	const link = members?.get('login');
	const share = members?.get('share');
	if (link) return {link};
	return share ? {token: share} : undefined;
}

type LoginAnswer =
	| {readonly kind: 'done'}
	/** The browser has another login, which is kept. */
	| {readonly kind: 'conflict'}
	| {readonly kind: 'refused'; readonly reason: string};

async function postLogin(secret: Secret, options: {readonly replace?: true} = {}): Promise<LoginAnswer> {
	try {
		const body = JSON.stringify({...secret, ...options});
		const answer = await fetch('login', {method: 'POST', headers: {'content-type': 'application/json'}, body});
		if (answer.ok) return {kind: 'done'};
		if (answer.status === LOGGED_IN_ALREADY) return {kind: 'conflict'};
		return {kind: 'refused', reason: (await answer.text()) || 'The login was refused.'};
	} catch (error) {
		return {kind: 'refused', reason: toErrorText(error)};
	}
}
