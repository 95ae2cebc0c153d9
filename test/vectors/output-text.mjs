// Reference for the text that unified exec hands to the model, written apart from the code it checks.
//   node test/vectors/output-text.mjs --check     compares it with the recorded answers, byte for byte
import {createHash} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';

export const MAX_OUTPUT_BYTES = 1024 * 1024;
export const DEFAULT_OUTPUT_TOKENS = 10_000;

/** Keeps the first half of its capacity and the newest half; counts the bytes that fell out between them. */
export class HeadTailBuffer {
	omitted = 0;
	#head = [];
	#headLength = 0;
	#tail = [];
	#tailLength = 0;
	#headCapacity;
	#tailCapacity;

	constructor(capacity = MAX_OUTPUT_BYTES) {
		this.#headCapacity = Math.floor(capacity / 2);
		this.#tailCapacity = capacity - this.#headCapacity;
	}

	push(chunk) {
		const first = chunk.subarray(0, this.#headCapacity - this.#headLength);
		const rest = chunk.subarray(first.length);
		this.#head.push(first);
		this.#headLength += first.length;
		this.#tail.push(rest);
		this.#tailLength += rest.length;
		while (this.#tailLength > this.#tailCapacity) this.#drop(this.#tailLength - this.#tailCapacity);
	}

	get total() {
		return this.#headLength + this.#tailLength + this.omitted;
	}

	bytesWithMarker() {
		const marker = this.omitted ? [Buffer.from(`\n${omissionMarker(this.omitted)}\n`)] : [];
		return Buffer.concat([...this.#head, ...marker, ...this.#tail]);
	}

	#drop(excess) {
		const [oldest] = this.#tail;
		const dropped = Math.min(excess, oldest.length);
		if (dropped === oldest.length) this.#tail.shift();
		else this.#tail[0] = oldest.subarray(dropped);
		this.#tailLength -= dropped;
		this.omitted += dropped;
	}
}

/**
 * `result` is `{chunkId, wallSeconds, exitCode?, sessionId?, originalTokens?, raw, omitted, maxOutputTokens?}` with the
 * omission marker inside `raw` already; a policy is `{bytes}` or `{tokens}`.
 */
export function modelText(result, modelPolicy = {tokens: DEFAULT_OUTPUT_TOKENS}) {
	const header = headerOf(result);
	const asked = {tokens: result.maxOutputTokens ?? DEFAULT_OUTPUT_TOKENS};
	const grown = scaled(modelPolicy, budget => Math.ceil(budget * 1.2));
	const room = Math.max(0, byteBudget(grown) - (Buffer.byteLength(header) + 1));
	const text = result.raw.toString('utf8');
	const tokens = result.originalTokens ?? approximateTokens(Buffer.byteLength(text));
	let policy = byteBudget(asked) < byteBudget(modelPolicy) ? asked : modelPolicy;
	let body = outputBody(text, policy, result.omitted ?? 0, tokens);
	while (Buffer.byteLength(body) > room && byteBudget(policy) > 0) {
		const excess = Buffer.byteLength(body) - room;
		const lessBy = 'tokens' in policy ? approximateTokens(excess) : excess;
		policy = scaled(policy, budget => Math.max(0, budget - lessBy));
		body = outputBody(text, policy, result.omitted ?? 0, tokens);
	}
	return `${header}\n${body}`;
}

function headerOf({chunkId, wallSeconds, exitCode, sessionId, originalTokens}) {
	return [
		...(chunkId ? [`Chunk ID: ${chunkId}`] : []),
		`Wall time: ${wallSeconds.toFixed(4)} seconds`,
		...(exitCode === undefined ? [] : [`Process exited with code ${exitCode}`]),
		...(sessionId === undefined ? [] : [`Process running with session ID ${sessionId}`]),
		...(originalTokens === undefined ? [] : [`Original token count: ${originalTokens}`]),
		'Output:',
	].join('\n');
}

function outputBody(text, policy, omitted, originalTokens) {
	const isFitting = Buffer.byteLength(text) <= byteBudget(policy);
	const marker = omissionMarker(omitted);
	if (isFitting) return omitted === 0 || text.includes(marker) ? text : `${marker}\n${text}`;
	const cut = cutMiddle(text, policy);
	if (omitted > 0) {
		const told = cut.includes(marker) ? '' : `${marker}\n`;
		return `Warning: truncated output (original token count: ${originalTokens})\n${told}\n${cut}`;
	}
	const tokens = approximateTokens(Buffer.byteLength(text));
	return `Warning: truncated output (original token count: ${tokens})\nTotal output lines: ${countLines(text)}\n\n${cut}`;
}

/** Cuts between characters: half of the budget in front, the rest behind. */
function cutMiddle(text, policy) {
	const budget = byteBudget(policy);
	const total = Buffer.byteLength(text);
	const note = (tokens, characters) =>
		'tokens' in policy ? `…${tokens} tokens truncated…` : `…${characters} chars truncated…`;
	if (budget === 0) return note(approximateTokens(total), [...text].length);
	const headBudget = Math.floor(budget / 2);
	const tailFrom = total - (budget - headBudget);
	let position = 0;
	let head = '';
	let tail = '';
	let removed = 0;
	for (const character of text) {
		const end = position + Buffer.byteLength(character);
		if (end <= headBudget) head += character;
		else if (position >= tailFrom) tail += character;
		else removed++;
		position = end;
	}
	return head + note(approximateTokens(total - budget), removed) + tail;
}

function omissionMarker(bytes) {
	return `... ${bytes} bytes omitted ...`;
}

function approximateTokens(bytes) {
	return Math.floor((bytes + 3) / 4);
}

function byteBudget(policy) {
	return 'tokens' in policy ? policy.tokens * 4 : policy.bytes;
}

function scaled(policy, scale) {
	return 'tokens' in policy ? {tokens: scale(policy.tokens)} : {bytes: scale(policy.bytes)};
}

function countLines(text) {
	const lines = text.split('\n').length;
	return text.endsWith('\n') ? lines - 1 : lines;
}

/** Outputs of recorded commands whose answers are recorded as hashes, by environment and call. */
const LARGE_OUTPUTS = {
	'local 11-0': {output: sequence(100_000)},
	'local 21-0': {output: `${'x'.repeat(3_000_000)}\nEND\n`},
	'local 10-0': {output: 'y\n'.repeat(100_000), maxOutputTokens: 100_000},
	'local 12-0': {output: `${'é'.repeat(5000)}\n`, maxOutputTokens: 1000},
	'remote 7-0': {output: `${sequence(300_000)}END\n`},
};
const RECORDED_POLICY = {bytes: 10_000};
const CHUNK_BYTES = 8192;

function check() {
	const recording = new URL('./unified-exec-vectors.json', import.meta.url);
	const {vectors} = JSON.parse(readFileSync(recording, 'utf8'));
	const outcomes = [
		...vectors.filter(({body}) => body).map(checkHash),
		...vectors.filter(isCutToRequest).map(checkCut),
		checkBudget({bytes: 200}),
		checkBudget({tokens: 50}),
	];
	const differing = outcomes.filter(({isSame}) => !isSame);
	for (const {name} of differing) console.error(`differs: ${name}`);
	console.log(`${outcomes.length - differing.length}/${outcomes.length} match`);
	process.exitCode = differing.length > 0 ? 1 : 0;
}

function checkHash({env, call, body}) {
	const {output, maxOutputTokens} = LARGE_OUTPUTS[`${env} ${call}`];
	const hash = createHash('sha256').update(renderedBody(output, maxOutputTokens)).digest('hex');
	return {name: `${env} ${call}`, isSame: hash === body.sha256};
}

function isCutToRequest({arguments: args, text}) {
	return args?.max_output_tokens !== undefined && text?.includes('truncated');
}

function checkCut({env, call, arguments: args, text}) {
	const output = /^printf '(.*)'$/.exec(args.cmd)?.[1] ?? 'x\n';
	return {name: `${env} ${call}`, isSame: renderedBody(output, args.max_output_tokens) === bodyOf(text)};
}

/** The header counts, too: all of the answer has to fit a fifth above the policy. */
function checkBudget(policy) {
	const raw = Buffer.from(sequence(150));
	const result = {chunkId: 'abc123', wallSeconds: 1.25, exitCode: 0, originalTokens: 123, raw, omitted: 0};
	const text = modelText(result, policy);
	const isSame = Buffer.byteLength(text) <= 240 && /Total output lines: 150\n\n1\n2\n3\n[^]*149\n150\n$/.test(text);
	return {name: `budget ${JSON.stringify(policy)}`, isSame};
}

function renderedBody(output, maxOutputTokens) {
	const buffer = new HeadTailBuffer();
	const bytes = Buffer.from(output);
	for (let at = 0; at < bytes.length; at += CHUNK_BYTES) buffer.push(bytes.subarray(at, at + CHUNK_BYTES));
	const result = {
		chunkId: 'abc123',
		wallSeconds: 0,
		exitCode: 0,
		originalTokens: approximateTokens(buffer.total),
		raw: buffer.bytesWithMarker(),
		omitted: buffer.omitted,
		maxOutputTokens,
	};
	return bodyOf(modelText(result, RECORDED_POLICY));
}

function bodyOf(text) {
	return text.slice(text.indexOf('Output:\n') + 'Output:\n'.length);
}

function sequence(last) {
	return Array.from({length: last}, (_, index) => `${index + 1}\n`).join('');
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.argv.includes('--check')) check();
