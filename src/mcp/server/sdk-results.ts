import {acceptedContent, type CallToolResult, type ElicitRequestFormParams} from '@modelcontextprotocol/server';
import type {CallAnswer} from './calls/tool-call.js';

/** Form for the line that a process waits for. Never a password: forms must not ask for those. */
export const LINE_FORM: ElicitRequestFormParams['requestedSchema'] = {
	type: 'object',
	properties: {line: {type: 'string', title: 'Line to type'}},
	required: ['line'],
};

/** The line in the reply to a form; undefined if it was declined. */
export function readLine(responses: Record<string, unknown> | undefined, key: string): string | undefined {
	const line = acceptedContent<{line?: unknown}>(responses, key)?.line;
	return typeof line === 'string' ? line : undefined;
}

/** Text only: several clients hide it from the model when there is structured content. */
export function toResult(answer: Exclude<CallAnswer, {kind: 'ask'}>): CallToolResult {
	const text = {type: 'text' as const, text: answer.text};
	if (answer.kind === 'image') {
		return {content: [text, {type: 'image', data: answer.base64, mimeType: answer.mimeType}]};
	}
	return {content: [text], ...(answer.isError && {isError: true})};
}
