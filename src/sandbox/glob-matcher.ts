/** A part of a pattern. */
type Part =
	| {readonly kind: 'one' | 'many'; readonly accepts: (character: string) => boolean}
	/** Any number of whole directories, with the slash behind each. */
	| {readonly kind: 'directories'}
	/** Everything below a directory, or the directory as a whole. */
	| {readonly kind: 'below'}
	| {readonly kind: 'alternatives'; readonly options: readonly (readonly Part[])[]};

/** State of the automaton: one that takes a character, one that goes on without, or an end. */
type State =
	| {readonly kind: 'take'; readonly accepts: (character: string) => boolean; readonly next: number}
	| {readonly kind: 'split'; next: readonly number[]}
	| {readonly kind: 'end'; readonly directoriesOnly: boolean};

const isAnything = (): boolean => true;
const isSlash = (character: string): boolean => character === '/';
const isNoSlash = (character: string): boolean => character !== '/';

/**
 * Matches names piece by piece by following all states of an automaton at once: the time is bounded by the product of the
 * lengths of pattern and text, whatever the pattern. Known are `*`, `?`, `[a-z]`, `[!a-z]`, `{a,b}`, `**` as a whole segment,
 * and `\` before a character that means itself.
 */
export class GlobMatcher {
	readonly #states: State[] = [];
	readonly start: readonly number[];

	/** Throws a `SyntaxError` if the pattern is none. */
	constructor(pattern: string) {
		const parts = new GlobParser(pattern).parse();
		const end = this.#add({kind: 'end', directoriesOnly: false});
		this.start = this.#reach([this.#build(parts, end)]);
	}

	/** States after `text`, none if nothing that begins with it matches; `spend` is told the steps this takes. */
	advance(states: readonly number[], text: string, spend: (steps: number) => void): readonly number[] {
		let current = states;
		for (const character of text) {
			if (current.length === 0) break;
			spend(current.length);
			const next: number[] = [];
			for (const index of current) {
				const state = this.#states[index]!;
				if (state.kind === 'take' && state.accepts(character)) next.push(state.next);
			}
			current = this.#reach(next);
		}
		return current;
	}

	isMatch(states: readonly number[], isDirectory: boolean): boolean {
		return states.some(index => {
			const state = this.#states[index]!;
			return state.kind === 'end' && (isDirectory || !state.directoriesOnly);
		});
	}

	/** All states that are reached without another character, each once. */
	#reach(from: readonly number[]): number[] {
		const reached = new Set(from);
		// A set is iterated in the order of insertion, what is added meanwhile included.
		for (const index of reached) {
			const state = this.#states[index]!;
			if (state.kind === 'split') for (const next of state.next) reached.add(next);
		}
		return [...reached];
	}

	#add(state: State): number {
		return this.#states.push(state) - 1;
	}

	/** Builds the states for `parts`, the last of which leads to `next`; returns the first. */
	#build(parts: readonly Part[], next: number): number {
		return parts.reduceRight((following, part) => this.#buildPart(part, following), next);
	}

	#buildPart(part: Part, next: number): number {
		switch (part.kind) {
			case 'one':
				return this.#add({kind: 'take', accepts: part.accepts, next});
			case 'many':
				return this.#buildLoop(part.accepts, next);
			case 'directories': {
				const slash = this.#add({kind: 'take', accepts: isSlash, next});
				return this.#add({kind: 'split', next: [this.#buildLoop(isAnything, slash), next]});
			}
			case 'below': {
				const rest = this.#add({kind: 'take', accepts: isAnything, next: this.#buildLoop(isAnything, next)});
				const slash = this.#add({kind: 'take', accepts: isSlash, next: rest});
				return this.#add({kind: 'split', next: [this.#add({kind: 'end', directoriesOnly: true}), slash]});
			}
			case 'alternatives':
				return this.#add({kind: 'split', next: part.options.map(option => this.#build(option, next))});
		}
	}

	#buildLoop(accepts: (character: string) => boolean, next: number): number {
		const split: State = {kind: 'split', next: []};
		const loop = this.#add(split);
		split.next = [this.#add({kind: 'take', accepts, next: loop}), next];
		return loop;
	}
}

class GlobParser {
	readonly #characters: readonly string[];
	#at = 0;

	constructor(pattern: string) {
		this.#characters = Array.from(pattern);
	}

	parse(): Part[] {
		return this.#parseSequence(true, false);
	}

	#parseSequence(isSegmentStart: boolean, isInBraces: boolean): Part[] {
		const parts: Part[] = [];
		let isStart = isSegmentStart;
		for (let character = this.#peek(); character !== undefined; character = this.#peek()) {
			if (isInBraces && (character === ',' || character === '}')) break;
			this.#at++;
			const part = this.#parsePart(character, isStart);
			isStart = part.kind === 'directories' || (part.kind === 'one' && character === '/');
			parts.push(part);
		}
		return parts;
	}

	#parsePart(character: string, isStart: boolean): Part {
		switch (character) {
			case '\\':
				return this.#literal(this.#characters[this.#at++] ?? '\\');
			case '*':
				return this.#parseStars(isStart);
			case '?':
				return {kind: 'one', accepts: isNoSlash};
			case '[':
				return this.#parseClass();
			case '{':
				return this.#parseBraces(isStart);
			case '/':
				if (!this.#isEndAfter('**')) return this.#literal('/');
				this.#at += 2;
				return {kind: 'below'};
			default:
				return this.#literal(character);
		}
	}

	#parseStars(isStart: boolean): Part {
		let count = 1;
		for (; this.#peek() === '*'; count++) this.#at++;
		if (count === 1 || !isStart) return {kind: 'many', accepts: isNoSlash};
		const next = this.#peek();
		if (next === '/') {
			this.#at++;
			return {kind: 'directories'};
		}
		const isWholeSegment = next === undefined || next === ',' || next === '}';
		return {kind: 'many', accepts: isWholeSegment ? isAnything : isNoSlash};
	}

	/** A class that is not closed is an ordinary bracket. */
	#parseClass(): Part {
		const isNegated = this.#peek() === '!' || this.#peek() === '^';
		const first = this.#at + (isNegated ? 1 : 0);
		// A closing bracket that comes first belongs to the class.
		const end = this.#characters.indexOf(']', first + 1);
		if (end < 0) return this.#literal('[');
		const ranges: [string, string][] = [];
		for (let at = first; at < end; at++) {
			const isRange = this.#characters[at + 1] === '-' && at + 2 < end;
			ranges.push([this.#characters[at]!, this.#characters[isRange ? at + 2 : at]!]);
			if (isRange) at += 2;
		}
		this.#at = end + 1;
		const includes = (character: string) => ranges.some(([low, high]) => character >= low && character <= high);
		return {kind: 'one', accepts: character => isNoSlash(character) && includes(character) !== isNegated};
	}

	#parseBraces(isStart: boolean): Part {
		const options: Part[][] = [];
		for (;;) {
			options.push(this.#parseSequence(isStart, true));
			const end = this.#characters[this.#at++];
			if (end === '}') return {kind: 'alternatives', options};
			if (end === undefined) throw new SyntaxError('a brace is not closed');
		}
	}

	#literal(character: string): Part {
		return {kind: 'one', accepts: other => other === character};
	}

	#peek(): string | undefined {
		return this.#characters[this.#at];
	}

	#isEndAfter(text: string): boolean {
		return this.#at + text.length === this.#characters.length && this.#characters.slice(this.#at).join('') === text;
	}
}
