import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';

/** An upper bound: its comment of one line, if there is one, its name and its value. */
const BOUND = /^(?:\/\*\* (?<why>.+) \*\/\n)?(?:export )?const (?<name>MAX_[A-Z0-9_]+) = (?<value>[^;]+);/gm;
/** A value that can be told without running the program. */
const NUMBER = /^[\d_\s*+\-()]+$/;

/** Every upper bound in the source, by file. */
export function readLimits(source) {
	const files = readdirSync(source, {recursive: true, encoding: 'utf8'}).filter(name => name.endsWith('.ts'));
	return files.sort().flatMap(file =>
		[...readFileSync(join(source, file), 'utf8').matchAll(BOUND)].map(({groups: {why, name, value}}) => ({
			file,
			why,
			name,
			value: NUMBER.test(value) ? computeValue(value) : undefined,
		})),
	);
}

/** Sums and products of whole numbers only; `NUMBER` lets nothing else through. */
function computeValue(expression) {
	const power = expression.replaceAll('_', '').split('**').map(Number);
	if (power.length === 2 && power.every(Number.isFinite)) return power[0] ** power[1];
	const terms = expression.replaceAll('_', '').split('+');
	const values = terms.map(term => term.split('*').reduce((product, factor) => product * Number(factor), 1));
	const sum = values.reduce((total, value) => total + value, 0);
	return Number.isFinite(sum) ? sum : undefined;
}
