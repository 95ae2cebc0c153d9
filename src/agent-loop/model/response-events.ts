import {type ModelFailure, reasonOfCode} from './model-error.js';
import type {ResponseItem, TokenUsage} from './response-items.js';
import {parseTryAgain} from './retry-delays.js';

const END_MARK = '[DONE]';

/** Event of a response stream that matters; all others are ignored. */
export type ResponseEvent =
	| {readonly kind: 'item'; readonly item: ResponseItem}
	| {readonly kind: 'completed'; readonly id: string | undefined; readonly usage: TokenUsage | undefined}
	| {
			readonly kind: 'failed';
			readonly reason: ModelFailure;
			readonly message: string;
			readonly waitMs: number | undefined;
	  };

/** Undefined for an event that does not matter, and for data that is no JSON. */
export function decodeResponseEvent(data: string): ResponseEvent | undefined {
	if (data.trim() === END_MARK) return undefined;
	const event = asRecord(parseJson(data));
	const response = asRecord(event?.['response']);
	switch (event?.['type']) {
		case 'response.output_item.done': {
			const item = asRecord(event['item']);
			return typeof item?.['type'] === 'string' ? {kind: 'item', item: item as ResponseItem} : undefined;
		}
		case 'response.completed':
			return {kind: 'completed', id: asText(response?.['id']), usage: decodeUsage(asRecord(response?.['usage']))};
		case 'response.failed':
			return decodeFailure(asRecord(response?.['error']));
		case 'response.incomplete': {
			const reason = asText(asRecord(response?.['incomplete_details'])?.['reason']) ?? 'unknown';
			const message = `incomplete response, reason: ${reason}`;
			return {kind: 'failed', reason: reasonOfCode(reason, 'incomplete'), message, waitMs: undefined};
		}
		default:
			return undefined;
	}
}

/** Error object of a failed response or of a refused request. */
export function decodeFailure(
	error: Readonly<Record<string, unknown>> | undefined,
	otherwise: ModelFailure = 'server',
): ResponseEvent & {kind: 'failed'} {
	const code = asText(error?.['code']) ?? asText(error?.['type']);
	const reason = reasonOfCode(code, otherwise);
	const message = asText(error?.['message']) ?? code ?? 'the response failed without a reason';
	return {kind: 'failed', reason, message, waitMs: reason === 'rate-limit' ? parseTryAgain(message) : undefined};
}

export function asRecord(value: unknown): Readonly<Record<string, unknown>> | undefined {
	return typeof value === 'object' && value !== null && !Array.isArray(value)
		? (value as Record<string, unknown>)
		: undefined;
}

export function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

function asText(value: unknown): string | undefined {
	return typeof value === 'string' && value !== '' ? value : undefined;
}

function decodeUsage(usage: Readonly<Record<string, unknown>> | undefined): TokenUsage | undefined {
	if (!usage) return undefined;
	const count = (name: string): number => (typeof usage[name] === 'number' ? usage[name] : 0);
	return {
		inputTokens: count('input_tokens'),
		outputTokens: count('output_tokens'),
		totalTokens: count('total_tokens'),
	};
}
