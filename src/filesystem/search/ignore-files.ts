import {existsSync, readFileSync} from 'node:fs';
import ignore, {type Ignore} from 'ignore';
import {type BytePath, childOf, display, isWithin, parentOf, ROOT, toSystem} from '../byte-path.js';

const NAMES = ['.gitignore', '.ignore'];
/** A larger file of rules is not believed to be one. */
const MAX_FILE_BYTES = 1024 * 1024;

interface Rules {
	readonly directory: BytePath;
	readonly matcher: Ignore;
}

/** The rules that hold in a directory: its own and those of the directories above, the nearest last. */
export class IgnoreRules {
	readonly #rules: readonly Rules[];

	private constructor(rules: readonly Rules[]) {
		this.#rules = rules;
	}

	static readonly none = new IgnoreRules([]);

	/** Those above a root count up to the repository it is in. */
	static above(root: BytePath): IgnoreRules {
		const above: BytePath[] = [];
		for (let directory = root; directory !== ROOT; directory = parentOf(directory)) {
			if (existsSync(toSystem(childOf(directory, '.git')))) {
				return above.reverse().reduce((rules, each) => rules.in(each), IgnoreRules.none);
			}
			above.push(parentOf(directory));
		}
		return IgnoreRules.none;
	}

	/** With the rules of one more directory. */
	in(directory: BytePath): IgnoreRules {
		const texts = NAMES.map(name => rulesIn(childOf(directory, name))).filter(text => text !== undefined);
		if (texts.length === 0) return this;
		const matcher = ignore({allowRelativePaths: true}).add(texts.join('\n'));
		return new IgnoreRules([...this.#rules, {directory, matcher}]);
	}

	/** The nearest rule that has something to say decides. */
	ignores(path: BytePath, isDirectory: boolean): boolean {
		for (const {directory, matcher} of [...this.#rules].reverse()) {
			if (!isWithin(path, directory)) continue;
			const relative = display(path.slice(directory === ROOT ? 1 : directory.length + 1));
			const {ignored, unignored} = matcher.test(isDirectory ? `${relative}/` : relative);
			if (ignored || unignored) return ignored;
		}
		return false;
	}
}

function rulesIn(path: BytePath): string | undefined {
	try {
		const text = readFileSync(toSystem(path));
		return text.length > MAX_FILE_BYTES ? undefined : text.toString();
	} catch {
		// Mostly there is none; one that cannot be read rules nothing.
		return undefined;
	}
}
