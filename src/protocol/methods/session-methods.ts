import * as v from 'valibot';
import {anything, optionalField} from '../wire/fields.js';
import {clientNotification, clientRequest} from './declare-method.js';
import {environmentInfo} from './environment-methods.js';

const initializeParams = v.object({
	clientName: v.string(),
	resumeSessionId: optionalField(v.string()),
});

const initializeResult = v.object({
	sessionId: v.string(),
	/** Read by the oldest clients only. */
	protocolVersion: v.optional(v.string()),
	environmentInfo: v.optional(environmentInfo),
});

/** The handshake. */
export const SESSION_METHODS = {
	initialize: clientRequest({
		family: 'handshake',
		since: 'v0',
		params: initializeParams,
		result: initializeResult,
		summary: 'Opens a session, or resumes a detached one.',
	}),
	initialized: clientNotification({
		family: 'handshake',
		since: 'v0',
		params: anything,
		summary: 'Ends the handshake; everything else is refused before it.',
	}),
} as const;
