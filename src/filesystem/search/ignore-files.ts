import {closeSync, constants, existsSync, fstatSync, openSync, readFileSync} from 'node:fs';
import ignore, {type Ignore} from 'ignore';
import {type BytePath, isWithin, joinPath, parentPath, ROOT, toDisplayText, toFsPath} from '../byte-path.js';
import {refuseOwnEntry} from '../own-process.js';

const IGNORE_FILE_NAMES = ['.gitignore', '.ignore'];
/** A FIFO without a writer does not block. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
/** A larger ignore file is skipped. */
const MAX_FILE_BYTES = 1024 * 1024;

interface Rules {
	readonly directory: BytePath;
	readonly matcher: Ignore;
}

/** Ignore rules of a directory: its own and those of its ancestors, the nearest last. */
export class IgnoreRules {
	readonly #rules: readonly Rules[];

	private constructor(rules: readonly Rules[]) {
		this.#rules = rules;
	}

	static readonly none = new IgnoreRules([]);

	/** Rules of the ancestors of a root, up to the repository it is in. */
	static loadAbove(root: BytePath): IgnoreRules {
		const above: BytePath[] = [];
		for (let directory = root; directory !== ROOT; directory = parentPath(directory)) {
			if (existsSync(toFsPath(joinPath(directory, '.git')))) {
				return above.reverse().reduce((rules, each) => rules.withDirectory(each), IgnoreRules.none);
			}
			above.push(parentPath(directory));
		}
		return IgnoreRules.none;
	}

	/** Adds the rules of one more directory. */
	withDirectory(directory: BytePath): IgnoreRules {
		const texts = IGNORE_FILE_NAMES.map(name => readRules(joinPath(directory, name))).filter(
			text => text !== undefined,
		);
		if (texts.length === 0) return this;
		const matcher = ignore({allowRelativePaths: true}).add(texts.join('\n'));
		return new IgnoreRules([...this.#rules, {directory, matcher}]);
	}

	/** The nearest rule that matches decides. */
	ignores(path: BytePath, isDirectory: boolean): boolean {
		for (const {directory, matcher} of [...this.#rules].reverse()) {
			if (!isWithin(path, directory)) continue;
			const relative = toDisplayText(path.slice(directory === ROOT ? 1 : directory.length + 1));
			const {ignored, unignored} = matcher.test(isDirectory ? `${relative}/` : relative);
			if (ignored || unignored) return ignored;
		}
		return false;
	}
}

function readRules(path: BytePath): string | undefined {
	let fd: number;
	try {
		fd = openSync(toFsPath(path), READ);
	} catch {
		// Usually there is none; an unreadable one is skipped.
		return undefined;
	}
	try {
		const stats = fstatSync(fd);
		refuseOwnEntry(fd, stats);
		return stats.isFile() && stats.size <= MAX_FILE_BYTES ? readFileSync(fd, 'utf8') : undefined;
	} catch {
		return undefined;
	} finally {
		closeSync(fd);
	}
}
