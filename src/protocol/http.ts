import * as v from 'valibot';
import {absent, bytes, u64} from './fields.js';

const header = v.object({name: v.string(), value: v.string(), valueEnvVar: absent(v.string())});

export const httpRequestParams = v.object({
	method: v.string(),
	url: v.string(),
	headers: v.optional(v.array(header), () => []),
	bodyBase64: absent(bytes),
	timeoutMs: absent(u64),
	redirectPolicy: v.optional(v.picklist(['follow', 'stop']), 'follow'),
	requestId: v.string(),
	streamResponse: v.nullish(v.boolean(), false),
});

export const httpRequestResult = v.object({status: v.number(), headers: v.array(header), bodyBase64: bytes});

export const httpBodyDeltaParams = v.object({
	requestId: v.string(),
	seq: u64,
	deltaBase64: bytes,
	done: v.optional(v.boolean(), false),
	error: v.nullish(v.string()),
});
