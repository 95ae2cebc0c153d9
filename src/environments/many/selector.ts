import {suggestName} from '../../shared/closest-name.js';
import type {LongarmError} from '../../shared/errors.js';
import {type EnvironmentLabels, isLabelWord} from '../../shared/labels.js';
import {invalidEnvironment} from '../remote/remote-url.js';

/** Labels that an error lists. */
const MAX_LISTED_LABELS = 20;
const SEPARATOR = ',';
const LABEL_MARK = '@';
const AND = '+';
const FORM =
	'names and @KEY=VALUE, several labels of one machine joined by +, as in a,b,@os=linux,@os=linux+arch=arm64';

/** Environments that can be selected, in the order in which they are listed. */
export interface SelectableEnvironments {
	readonly names: readonly string[];
	/** Labels by name; one without labels need not be there. */
	readonly labels: ReadonlyMap<string, EnvironmentLabels>;
}

/**
 * Names of the environments that a selector such as `a,b,@os=linux+arch=arm64` stands for, each once, in the order of the
 * selector. Throws `ENVIRONMENT_INVALID` for an unknown name, for labels that no environment has, and for bad syntax.
 */
export function selectEnvironments(selector: string, known: SelectableEnvironments): string[] {
	return [...new Set(splitSelector(selector).flatMap(term => selectByTerm(term, known)))];
}

/** The terms of a selector: names, and labels with their mark. Throws for one that is empty. */
export function splitSelector(selector: string): string[] {
	const terms = selector.split(SEPARATOR).map(term => term.trim());
	if (terms.some(term => term === '')) {
		const what = selector.trim() === '' ? 'no environment is selected' : `\`${selector}\` has an empty part`;
		throw invalidEnvironment(`${what}; expected ${FORM}`, {selector});
	}
	return terms;
}

function selectByTerm(term: string, known: SelectableEnvironments): string[] {
	if (term.startsWith(LABEL_MARK)) return selectByLabels(term, known);
	if (!known.names.includes(term)) throw unknownEnvironment(term, known.names);
	return [term];
}

/** Whether a term is labels, and some environment has them. */
export function selectsByLabels(term: string, known: SelectableEnvironments): boolean {
	return term.startsWith(LABEL_MARK) && findByLabels(parseTerm(term), known).length > 0;
}

function findByLabels(wanted: readonly [string, string][], {names, labels}: SelectableEnvironments): string[] {
	return names.filter(name => wanted.every(([key, value]) => labels.get(name)?.[key] === value));
}

function selectByLabels(term: string, known: SelectableEnvironments): string[] {
	const {labels} = known;
	const wanted = parseTerm(term);
	const found = findByLabels(wanted, known);
	if (found.length > 0) return found;
	const message = `no environment has the ${wanted.length === 1 ? 'label' : 'labels'} ${wanted.map(pair => pair.join('=')).join(' and ')}`;
	throw invalidEnvironment(`${message}; ${listLabels(labels)}`, {selector: term});
}

function parseTerm(term: string): [key: string, value: string][] {
	return term
		.slice(LABEL_MARK.length)
		.split(AND)
		.map(pair => {
			const [key = '', value = '', ...rest] = pair.split('=').map(part => part.trim());
			if (rest.length === 0 && isLabelWord(key) && isLabelWord(value)) return [key, value];
			throw invalidEnvironment(`\`${term}\` selects nothing; expected ${FORM}`, {selector: term});
		});
}

function listLabels(labels: ReadonlyMap<string, EnvironmentLabels>): string {
	const pairs = [...labels.values()].flatMap(each => Object.entries(each).map(pair => pair.join('=')));
	const known = [...new Set(pairs)].sort();
	if (known.length === 0) return 'there are no labels; see longarm env add --label';
	const rest = known.length > MAX_LISTED_LABELS ? ` and ${known.length - MAX_LISTED_LABELS} more` : '';
	return `known are ${known.slice(0, MAX_LISTED_LABELS).join(', ')}${rest}`;
}

/** The error for a name that no environment has, with the one that was probably meant. */
export function unknownEnvironment(id: string, names: readonly string[]): LongarmError {
	const known = names.length === 0 ? 'there are none' : `known are ${names.join(', ')}`;
	return invalidEnvironment(`unknown environment \`${id}\`;${suggestName(id, names)} ${known}`, {id, known: names});
}
