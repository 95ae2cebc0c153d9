import {SERVER_RESTARTED} from '../../../../client/session/recovery.js';

/** The server answers, but not for our session. */
const UNKNOWN_SESSION = /unknown session id \S+$/;
const LOST_HINT = 'The process may still run where it is, until its session is over.';

/** Message and hint for a process whose end will never be known: the server was restarted, or the link is lost. */
export function explainLoss({message}: Error): {readonly message: string; readonly hint: string} {
	const isRestarted = message.endsWith(SERVER_RESTARTED);
	if (!isRestarted && !UNKNOWN_SESSION.test(message)) return {message, hint: LOST_HINT};
	return {
		message: `the server does not know this session any more: it was restarted${isRestarted ? '' : ', or has ended the session'}`,
		hint: 'A longarm server ends what ran in a session with it; start it again.',
	};
}
