import {
	CALL_ADDRESS,
	CALL_BYTES,
	createLauncher,
	END_CHILDREN,
	MEMORY_ADDRESS,
	WAIT_FOR_CHILD,
} from './launcher-program.js';
import {CALL_NUMBERS, type CallName} from './system-calls.js';

/** Address of eight bytes that hold the result of a call; as an argument it stands for that result. */
export interface Cell {
	readonly cell: number;
}

/** Place in the list to go on at. */
export interface JumpTarget {
	index: number | undefined;
}

export type CallArgument = number | Cell;

export interface CallOptions {
	/** Keeps the result for later calls. */
	readonly result?: Cell;
	/** Goes on there, and not behind the call, if the result is above zero. */
	readonly jump?: JumpTarget;
	/** Named in the message if the call fails, and nothing more is done; without it a failure is ignored. */
	readonly label?: string;
}

interface Call {
	readonly number: number;
	readonly args: readonly CallArgument[];
	readonly options: CallOptions;
}

const LABEL_PREFIX = 'longarm-sandbox: ';
const MAX_CALL_ARGUMENTS = 6;
const CELL_BYTES = 8;
/** Read at once of the list of children; the rest is read when these have ended. */
const CHILD_LIST_BYTES = 4096;

/** A list of system calls and the memory they work on, to be made by a launcher of its own. */
export class CallList {
	readonly #calls: Call[] = [];
	readonly #memory: Uint8Array[] = [];
	#memoryBytes = 0;
	readonly #labels = new Map<string, {address: number; length: number}>();
	/** Takes the results nobody asks for. */
	readonly #unused = this.cell();

	/** Adds a call that has to succeed: `label` tells of its failure. */
	require(label: string, name: CallName, args: readonly CallArgument[], options: CallOptions = {}): void {
		this.#calls.push({number: CALL_NUMBERS[name], args, options: {...options, label}});
	}

	/** Adds a call whose failure changes nothing. */
	attempt(name: CallName, args: readonly CallArgument[], options: CallOptions = {}): void {
		this.#calls.push({number: CALL_NUMBERS[name], args, options});
	}

	/** Waits for a child, collects all others that end meanwhile, and keeps the exit code: its own, or 128 + signal. */
	wait(child: Cell, exitCode: Cell): void {
		this.#calls.push({number: WAIT_FOR_CHILD, args: [child], options: {result: exitCode}});
	}

	/**
	 * Ends all children, and those that become ones meanwhile, until there are none. Where the kernel keeps no list of them
	 * nothing is done.
	 */
	endChildren(): void {
		const buffer = this.bytes(new Uint8Array(CHILD_LIST_BYTES));
		const args = [this.text('/proc/thread-self/children'), buffer, CHILD_LIST_BYTES];
		this.#calls.push({number: END_CHILDREN, args, options: {}});
	}

	target(): JumpTarget {
		return {index: undefined};
	}

	/** The calls that follow are the ones of this target. */
	place(target: JumpTarget): void {
		target.index = this.#calls.length;
	}

	cell(): Cell {
		return {cell: this.bytes(new Uint8Array(CELL_BYTES))};
	}

	/** Address of a text that ends with NUL. */
	text(text: string): number {
		return this.bytes(Buffer.from(`${text}\0`));
	}

	/** Address of a NULL-terminated list of addresses of texts. */
	texts(texts: readonly string[]): number {
		const addresses = texts.map(text => this.text(text));
		return this.words([...addresses, 0]);
	}

	/** Address of 64-bit numbers. */
	words(values: readonly number[]): number {
		const bytes = Buffer.alloc(values.length * 8);
		for (const [index, value] of values.entries()) bytes.writeBigInt64LE(BigInt(value), index * 8);
		return this.bytes(bytes);
	}

	/** Address of a copy of these bytes, aligned for every type. */
	bytes(bytes: Uint8Array): number {
		const address = MEMORY_ADDRESS + this.#memoryBytes;
		const padding = new Uint8Array((CELL_BYTES - (bytes.length % CELL_BYTES)) % CELL_BYTES);
		this.#memory.push(bytes, padding);
		this.#memoryBytes += bytes.length + padding.length;
		return address;
	}

	/** The program that makes the calls. */
	toProgram(): Uint8Array {
		const calls = Buffer.alloc(this.#calls.length * CALL_BYTES);
		for (const [index, call] of this.#calls.entries()) this.#write(calls, index * CALL_BYTES, call);
		return createLauncher(calls, Buffer.concat(this.#memory));
	}

	#write(table: Buffer, offset: number, {number, args, options}: Call): void {
		const {result = this.#unused, jump, label} = options;
		const text = label === undefined ? undefined : this.#labelText(label);
		const padded = Array.from({length: MAX_CALL_ARGUMENTS}, (_, at) => args[at] ?? 0);
		const references = args.reduce<number>((bits, each, at) => (typeof each === 'number' ? bits : bits | (1 << at)), 0);
		const words = [
			number,
			...padded.map(each => (typeof each === 'number' ? each : each.cell)),
			references,
			result.cell,
			jump ? CALL_ADDRESS + jump.index! * CALL_BYTES : 0,
			text?.address ?? 0,
			text?.length ?? 0,
		];
		for (const [index, word] of words.entries()) table.writeBigInt64LE(BigInt(word), offset + index * 8);
	}

	#labelText(label: string): {address: number; length: number} {
		const known = this.#labels.get(label);
		if (known) return known;
		const text = Buffer.from(`${LABEL_PREFIX}${label}: `);
		const place = {address: this.bytes(text), length: text.length};
		this.#labels.set(label, place);
		return place;
	}
}
