import {SERVER_RESTARTED} from '../../../../client/session/recovery.js';

/** The server answers, but not for our session. */
const UNKNOWN_SESSION = /unknown session id \S+$/;
/** Of a process about which nothing is known but that it cannot be reached. */
export const LOST_HINT = 'The process may still run where it is, until its session is over.';

/** Whether the server answers and has no such session any more; it may know the process all the same. */
export function isSessionLost({message}: Error): boolean {
	return message.endsWith(SERVER_RESTARTED) || UNKNOWN_SESSION.test(message);
}

/** Message and hint for a process whose end will never be known: the server was restarted, or the link is lost. */
export function explainLoss(error: Error): {readonly message: string; readonly hint: string} {
	const {message} = error;
	if (!isSessionLost(error)) return {message, hint: LOST_HINT};
	const isRestarted = message.endsWith(SERVER_RESTARTED);
	return {
		message: `the server does not know this session any more: it was restarted${isRestarted ? '' : ', or has ended the session'}`,
		hint: 'A longarm server ends what ran in a session with it; start it again.',
	};
}
