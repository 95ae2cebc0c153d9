import * as v from 'valibot';
import {environmentInfo} from './environment.js';
import {absent} from './fields.js';

export const initializeParams = v.object({
	clientName: v.string(),
	resumeSessionId: absent(v.string()),
});

export const initializeResult = v.object({
	sessionId: v.string(),
	/** What the oldest clients look for. */
	protocolVersion: v.optional(v.string()),
	environmentInfo: v.optional(environmentInfo),
});
