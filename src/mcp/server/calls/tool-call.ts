/**
 * An answer for programs: states, codes and figures by stable names. `text` is everything below the header line, because
 * some clients show their model this object in place of the text.
 */
export type AnswerFacts = Readonly<Record<string, unknown>>;

/** Answer of a tool. `isError` only when the tool has failed: an exit code is an answer. */
export type CallAnswer =
	| {readonly kind: 'text'; readonly text: string; readonly facts?: AnswerFacts; readonly isError?: boolean}
	| {
			readonly kind: 'image';
			readonly text: string;
			readonly facts: AnswerFacts;
			readonly base64: string;
			readonly mimeType: string;
	  }
	/** A process waits for a line that a person has to type; the call goes on with the reply. */
	| {readonly kind: 'ask'; readonly message: string; readonly processId: string};

type TextAnswer = Extract<CallAnswer, {kind: 'text'}>;

/** Reply of a person to an answer of kind `ask`; without a line they have declined. */
export interface AskReply {
	readonly processId: string;
	readonly line: string | undefined;
}

/** Subject of a call that may take long. */
export interface CallSubject {
	/** Of a task, `devbox.p7`; several calls about one subject are numbered. */
	readonly name: string;
	/** Whether the process belongs to this call: then cancelling the task ends it. */
	readonly isOwn: boolean;
	/** How far it is, in one line. */
	describe(): Promise<string>;
	/** Asks what was started to end; undefined if this client may not end it. */
	readonly cancel: (() => Promise<void>) | undefined;
}

/** A call of a tool, as far as tools know of it. */
export interface ToolCall {
	/** Aborted when nobody waits for the answer any more. What was started goes on. */
	readonly signal: AbortSignal;
	/** Whether a person can be asked for a line. */
	readonly canAsk: boolean;
	/** Time to wait for, given the one that was asked for; undefined for no limit. */
	waitMs(askedMs: number | undefined): number | undefined;
	/** Names what the call is about, for progress and tasks. */
	watch(subject: CallSubject): void;
}

/** Longest wait of a client that shows progress. */
const MAX_WAIT_MS = 24 * 60 * 60 * 1000;

/**
 * How long a client waits for an answer: as long as it takes, because it asks for the task; as long as the model says,
 * because it sees progress; or for a short while only.
 */
export type Patience = 'task' | 'progress' | 'short';

/** Wait of a call; see `ToolCall.waitMs`. */
export function limitWait(patience: Patience, askedMs: number | undefined, shortMs: number): number | undefined {
	switch (patience) {
		case 'task':
			return askedMs;
		case 'progress':
			return Math.min(askedMs ?? shortMs, MAX_WAIT_MS);
		case 'short':
			return Math.min(askedMs ?? shortMs, shortMs);
	}
}

/** A header line, the same for programs, and the text below it. */
export function textAnswer(header: string, facts: AnswerFacts, ...lines: readonly string[]): TextAnswer {
	const text = lines.filter(line => line !== '').join('\n');
	if (text === '') return {kind: 'text', text: header, facts};
	return {kind: 'text', text: `${header}\n${text}`, facts: {...facts, text}};
}
