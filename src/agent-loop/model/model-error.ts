/** Reason why the model gave no response. */
export type ModelFailure =
	| 'connection'
	| 'rate-limit'
	| 'server'
	| 'stream'
	| 'idle'
	| 'incomplete'
	| 'context-window'
	| 'quota'
	| 'policy'
	| 'credentials'
	| 'invalid-request'
	| 'protocol';

/** Reasons that may be gone with the next request. */
const TRANSIENT: ReadonlySet<ModelFailure> = new Set(['connection', 'rate-limit', 'server', 'stream', 'idle']);

const REASONS_BY_CODE: Readonly<Record<string, ModelFailure>> = {
	context_length_exceeded: 'context-window',
	insufficient_quota: 'quota',
	usage_limit_reached: 'quota',
	usage_not_included: 'quota',
	content_policy_violation: 'policy',
	content_filter: 'policy',
	cyber_policy: 'policy',
	invalid_prompt: 'invalid-request',
	invalid_request_error: 'invalid-request',
	invalid_api_key: 'credentials',
	rate_limit_exceeded: 'rate-limit',
};

/** Details of a `ModelError`. */
export interface ModelErrorDetails {
	readonly message: string;
	/** Time the endpoint asks to wait before the next request. */
	readonly waitMs?: number | undefined;
	/** Whether all retries were used up, or the endpoint asks to wait for too long. */
	readonly isFinal?: boolean | undefined;
	readonly cause?: unknown;
}

/** The model endpoint failed or refused. The message holds no key, whatever the endpoint answered. */
export class ModelError extends Error {
	override readonly name = 'ModelError';
	readonly reason: ModelFailure;
	readonly waitMs: number | undefined;
	/** Whether the same request may succeed later. */
	readonly isRetryable: boolean;

	constructor(reason: ModelFailure, {message, waitMs, isFinal = false, cause}: ModelErrorDetails) {
		super(message, cause === undefined ? undefined : {cause});
		this.reason = reason;
		this.waitMs = waitMs;
		this.isRetryable = TRANSIENT.has(reason) && !isFinal;
	}

	/** The same error, after the last retry. */
	toFinal(): ModelError {
		const {message, waitMs, cause} = this;
		return new ModelError(this.reason, {message, waitMs, cause, isFinal: true});
	}
}

/** Reason for an error code of the endpoint; `otherwise` for a code that stands for nothing in particular. */
export function reasonOfCode(code: string | undefined, otherwise: ModelFailure): ModelFailure {
	return (code !== undefined && Object.hasOwn(REASONS_BY_CODE, code) && REASONS_BY_CODE[code]) || otherwise;
}
