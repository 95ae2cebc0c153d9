import type {WebSocket} from 'ws';
import {type BinaryPayload, ByteBlocks} from '../../protocol/wire/binary-payload.js';
import {encodeBase64} from '../../shared/base64.js';
import {payloadBuffers} from '../../shared/node/buffer-pool.js';
import {
	decodeSlice,
	type ExtractedPayload,
	longString,
	MIN_SHARE_DIVISOR,
	memberBefore,
	placeholderText,
	SLICE_CHARS,
} from './extract-payload.js';
import type {PooledPayloads} from './pooled-payloads.js';

const TEXT_OPCODE = 1;
const QUOTE = 0x22;
/** Characters that become three bytes. */
const GROUP_CHARS = 4;

interface Receiver {
	_fin: boolean;
	_opcode: number;
	_fragments: Buffer[];
	_messageLength: number;
	dataMessage?: (callback: (error?: Error) => void) => void;
}

/** A pooled block and how many of its bytes are used. */
interface PartlyUsed {
	readonly memory: Buffer;
	length: number;
}

/** Part of a payload that has arrived. */
interface Decoded {
	readonly member: BinaryPayload['member'];
	/** Text of the message before the payload. */
	readonly head: Buffer;
	readonly blocks: PartlyUsed[];
	/** Characters behind the last group, one to four: the last group of all is decoded as such. */
	rest: string;
	isWhole: boolean;
}

/**
 * Decodes the long base64 value of a message that arrives in fragments while it arrives, into pooled blocks: the text is
 * never in memory as a whole, and little is left to do behind its last byte. `ws` calls `dataMessage` with the fragments it
 * has; a test fails should the library change.
 */
export class FragmentedPayload {
	readonly #payloads: PooledPayloads;
	#decoded: Decoded | undefined;
	/** Fragments of a message without a payload are left to the library. */
	#isPlain = false;

	constructor(webSocket: WebSocket, payloads: PooledPayloads) {
		this.#payloads = payloads;
		const receiver = (webSocket as unknown as {_receiver?: Receiver})._receiver;
		const dataMessage = receiver?.dataMessage?.bind(receiver);
		if (!receiver || !dataMessage) return;
		receiver.dataMessage = callback => {
			// Most messages come in one piece.
			if (!receiver._fin || this.#decoded) this.#decode(receiver);
			if (receiver._fin) this.#isPlain = false;
			dataMessage(callback);
		};
	}

	/** The payload of the message that has arrived, given the rest of its text; undefined if none was decoded. */
	take(rest: Buffer): ExtractedPayload | undefined {
		const decoded = this.#decoded;
		if (!decoded) return undefined;
		this.#decoded = undefined;
		const text = rest.toString();
		const placeholder = placeholderText();
		const {bytes, release} = toPayload(decoded);
		const original = (): string => text.replace(placeholder, () => encodeAll(bytes));
		return {text, payload: {member: decoded.member, placeholder, bytes, release, original}};
	}

	#decode(receiver: Receiver): void {
		const fragments = receiver._fragments;
		if (this.#isPlain || receiver._opcode !== TEXT_OPCODE || fragments.length === 0) return;
		if (!this.#decoded) this.#begin(fragments);
		else if (!this.#decoded.isWhole && fragments.length > 1) this.#continue(fragments, fragments.pop()!, 0);
		// A string that never ends is for the parser to refuse.
		if (receiver._fin && this.#decoded && !this.#decoded.isWhole) this.#restore(fragments, []);
		// Only now: to add them up at every fragment would take time by the square of their number.
		if (receiver._fin) receiver._messageLength = fragments.reduce((sum, {length}) => sum + length, 0);
	}

	#begin(fragments: Buffer[]): void {
		const first = fragments[0]!;
		const place = fragments.length === 1 ? longString(first) : undefined;
		const member = place?.end === -1 ? memberBefore(first, place.start) : undefined;
		if (!place || !member) {
			this.#isPlain = true;
			return;
		}
		// A copy: its memory is needed for the next fragment.
		const head = Buffer.from(first.subarray(0, place.start));
		this.#decoded = {member, head, blocks: [], rest: '', isWhole: false};
		fragments[0] = head;
		this.#continue(fragments, first, place.start);
	}

	/** Decodes the characters of a fragment up to the quote that ends the value, or to the end of the fragment. */
	#continue(fragments: Buffer[], fragment: Buffer, start: number): void {
		const decoded = this.#decoded!;
		const quote = fragment.indexOf(QUOTE, start);
		const end = quote === -1 ? fragment.length : quote;
		const count = decoded.rest.length + end - start;
		let left = quote === -1 ? count - (count % GROUP_CHARS || GROUP_CHARS) : count;
		let from = start;
		while (left > 0) {
			const taken = Math.min(left, SLICE_CHARS);
			const to = from + taken - decoded.rest.length;
			const text = decoded.rest + fragment.toString('latin1', from, to);
			decoded.rest = '';
			from = to;
			left -= taken;
			if (appendSlice(decoded, text, quote !== -1 && left === 0)) continue;
			this.#restore(fragments, [Buffer.from(text, 'latin1'), Buffer.from(fragment.subarray(from))]);
			return;
		}
		if (quote === -1) {
			decoded.rest += fragment.toString('latin1', from, end);
		} else {
			decoded.isWhole = true;
			fragments.push(Buffer.from(placeholderText()), Buffer.from(fragment.subarray(quote)));
		}
		this.#payloads.release();
	}

	/** Gives up: what was decoded becomes text again, `undecoded` follows it. */
	#restore(fragments: Buffer[], undecoded: readonly Buffer[]): void {
		const decoded = this.#decoded!;
		this.#decoded = undefined;
		this.#isPlain = true;
		for (const block of decoded.blocks) fragments.push(Buffer.from(encodeBase64(bytesOf(block)), 'latin1'));
		fragments.push(Buffer.from(decoded.rest, 'latin1'), ...undecoded);
		giveBlocks(decoded);
		this.#payloads.release();
	}
}

/** False for text that is not canonical base64. */
function appendSlice({blocks}: Decoded, text: string, isLast: boolean): boolean {
	const maxBytes = Math.ceil(text.length / GROUP_CHARS) * 3;
	let block = blocks.at(-1);
	if (!block || block.length + maxBytes > payloadBuffers.blockBytes) {
		block = {memory: payloadBuffers.take(), length: 0};
		blocks.push(block);
	}
	const length = decodeSlice(block.memory, block.length, text, isLast);
	block.length += length ?? 0;
	return length !== undefined;
}

/** The bytes, in one piece if they fit into a block; a few of them get memory of their own. */
function toPayload(decoded: Decoded): Pick<BinaryPayload, 'bytes' | 'release'> {
	const [first, ...others] = decoded.blocks.map(bytesOf);
	const release = (): void => giveBlocks(decoded);
	if (others.length > 0) return {bytes: new ByteBlocks([first!, ...others]), release};
	if (first!.length >= payloadBuffers.blockBytes / MIN_SHARE_DIVISOR) return {bytes: first!, release};
	const bytes = Buffer.allocUnsafeSlow(first!.length);
	first!.copy(bytes);
	release();
	return {bytes, release: () => {}};
}

function bytesOf({memory, length}: PartlyUsed): Buffer {
	return memory.subarray(0, length);
}

function giveBlocks({blocks}: Decoded): void {
	for (const {memory} of blocks) payloadBuffers.give(memory);
}

function encodeAll(bytes: Uint8Array | ByteBlocks): string {
	return bytes instanceof ByteBlocks ? bytes.blocks.map(encodeBase64).join('') : encodeBase64(bytes);
}
