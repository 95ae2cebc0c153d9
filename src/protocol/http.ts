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

export const httpCancelParams = v.object({requestId: v.string()});

const forwardId = v.string();
export const forwardOpenParams = v.object({forwardId, host: v.nullish(v.string(), '127.0.0.1'), port: u64});
export const forwardReadParams = v.object({forwardId, maxBytes: absent(u64)});
export const forwardReadResult = v.object({chunk: bytes, eof: v.boolean()});
export const forwardWriteParams = v.object({forwardId, chunk: bytes, eof: v.nullish(v.boolean(), false)});
export const forwardCloseParams = v.object({forwardId});
