import {acceptedContent, type CallToolResult, type ElicitRequestFormParams} from '@modelcontextprotocol/server';
import type {CallAnswer} from './calls/tool-call.js';

/** Form for the line that a process waits for. Never a password: forms must not ask for those. */
export const LINE_FORM: ElicitRequestFormParams['requestedSchema'] = {
	type: 'object',
	properties: {line: {type: 'string', title: 'Line to type'}},
	required: ['line'],
};

/** Clients that show their model structured content in place of the text: output in JSON is hard to read and to edit. */
const TEXT_HIDING_CLIENTS = /claude|codex|copilot|opencode|visual studio code/i;

/** Whether a client of this name gets structured content beside the text. */
export function takesStructure(clientName: string | undefined): boolean {
	return clientName === undefined || !TEXT_HIDING_CLIENTS.test(clientName);
}

/** The line in the reply to a form; undefined if it was declined. */
export function readLine(responses: Record<string, unknown> | undefined, key: string): string | undefined {
	const line = acceptedContent<{line?: unknown}>(responses, key)?.line;
	return typeof line === 'string' ? line : undefined;
}

/** The answer as text and, where the client takes it, as structured content, which says the same. */
export function toResult(answer: Exclude<CallAnswer, {kind: 'ask'}>, isStructured: boolean): CallToolResult {
	const text = {type: 'text' as const, text: answer.text};
	const structure = isStructured && answer.facts ? {structuredContent: {...answer.facts}} : {};
	if (answer.kind === 'image') {
		return {content: [text, {type: 'image', data: answer.base64, mimeType: answer.mimeType}], ...structure};
	}
	return {content: [text], ...structure, ...(answer.isError && {isError: true})};
}
