import {signal} from '@preact/signals';
import {toErrorText} from './shown-text.js';

/** A machine, as the server of the console names it. */
export interface PageMachine {
	readonly id: string;
	readonly name: string;
}

export interface SharedView {
	readonly processId: string;
	readonly role: 'observe' | 'drive';
}

export type LoginState =
	| {readonly kind: 'loading'}
	| {readonly kind: 'anonymous'; readonly reason?: string | undefined}
	| {readonly kind: 'ready'; readonly machines: readonly PageMachine[]; readonly share: SharedView | null};

export const login = signal<LoginState>({kind: 'loading'});

/** Uses the secret of a link, which leaves the address at once, and asks who is logged in. */
export async function beginSession(): Promise<void> {
	const secret = takeSecret();
	if (secret) {
		const refusal = await postLogin(secret);
		if (refusal !== undefined) {
			// A tab that is logged in already may follow an old link.
			await readSession(refusal);
			return;
		}
	}
	await readSession();
}

/** Logs in by a token, or by a link that was pasted. */
export async function logInWith(text: string): Promise<void> {
	const fragment = text.includes('#') ? new URLSearchParams(text.slice(text.indexOf('#') + 1)) : undefined;
	const refusal = await postLogin(toSecret(fragment) ?? {token: text.trim()});
	if (refusal === undefined) await readSession();
	else login.value = {kind: 'anonymous', reason: refusal};
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
			const {machines, share} = (await answer.json()) as {machines: PageMachine[]; share: SharedView | null};
			if (login.value.kind !== 'ready') login.value = {kind: 'ready', machines, share};
		} else if (answer.status === 401) {
			const why = login.value.kind === 'ready' ? 'This browser is no longer logged in.' : undefined;
			login.value = {kind: 'anonymous', reason: reason ?? why};
		}
	} catch (error) {
		if (login.value.kind === 'loading') login.value = {kind: 'anonymous', reason: toErrorText(error)};
	}
}

type Secret = {readonly link: string} | {readonly token: string};

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

/** The reason of a refusal. */
async function postLogin(secret: Secret): Promise<string | undefined> {
	try {
		const body = JSON.stringify(secret);
		const answer = await fetch('login', {method: 'POST', headers: {'content-type': 'application/json'}, body});
		return answer.ok ? undefined : (await answer.text()) || 'The login was refused.';
	} catch (error) {
		return toErrorText(error);
	}
}
