import type {VNode} from 'preact';
import {useRef, useState} from 'preact/hooks';
import {logInWith, readSession, replaceLogin, type Secret} from './login-state.js';
import {Icon} from './page-parts.js';

/** Asks for a link or a token. */
export function LoginView({reason}: {reason: string | undefined}): VNode {
	const input = useRef<HTMLInputElement>(null);
	const [isBusy, setBusy] = useState(false);
	const submit = async (event: Event): Promise<void> => {
		event.preventDefault();
		const field = input.current;
		if (!field?.value) return;
		setBusy(true);
		await logInWith(field.value);
		field.value = '';
		setBusy(false);
	};
	return (
		<main class="centre">
			<form class="card login" onSubmit={event => void submit(event)}>
				<h1>
					<Icon name="brand" />
					longarm console
				</h1>
				{reason && (
					<p class="problem" role="alert">
						{reason}
					</p>
				)}
				<p>
					Open the link that <code>longarm console</code> or <code>longarm serve --console</code> has printed. Each link
					is good once. A server with tokens takes a token here.
				</p>
				<label for="secret">Link or token</label>
				<input id="secret" ref={input} type="password" autocomplete="off" spellcheck={false} required />
				<button type="submit" class="primary" disabled={isBusy}>
					Log in
				</button>
			</form>
		</main>
	);
}

/** Asks before a link replaces the login of this browser: anybody can send a link. */
export function ReplaceLoginView({secret}: {secret: Secret}): VNode {
	const [isBusy, setBusy] = useState(false);
	const answer = (act: () => Promise<void>): void => {
		setBusy(true);
		void act();
	};
	return (
		<main class="centre">
			<div class="card login">
				<h1>
					<Icon name="brand" />
					longarm console
				</h1>
				<p role="alert">
					This browser is logged in already. The link you opened logs in with other rights, and may come from somebody
					else.
				</p>
				<button type="button" class="primary" disabled={isBusy} onClick={() => answer(() => readSession())}>
					Stay logged in
				</button>
				<button type="button" class="quiet" disabled={isBusy} onClick={() => answer(() => replaceLogin(secret))}>
					Log out and open the link
				</button>
			</div>
		</main>
	);
}
