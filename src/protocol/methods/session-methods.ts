import * as v from 'valibot';
import {optionalField} from '../wire/fields.js';
import {environmentInfo} from './environment-methods.js';

export const initializeParams = v.object({
	clientName: v.string(),
	resumeSessionId: optionalField(v.string()),
});

export const initializeResult = v.object({
	sessionId: v.string(),
	/** What the oldest clients look for. */
	protocolVersion: v.optional(v.string()),
	environmentInfo: v.optional(environmentInfo),
});
