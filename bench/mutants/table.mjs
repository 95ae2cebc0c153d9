import {markdownTable} from '../lib/tables.mjs';

const COLUMNS = [
	'module',
	'places',
	'killed',
	'timeouts',
	'survived',
	'of these wrong types',
	'equivalent',
	'not reached in process',
	'score',
];

/**
 * Results by module; the score is what was noticed of the places that were tried. Those somebody found to change nothing
 * that can be seen, and marked as `equivalent` in the file, do not count.
 */
export function printTable({places}) {
	const tried = places.filter(({status}) => status !== 'pending');
	const modules = [...new Set(tried.map(({module}) => module))];
	const rows = modules.map(module =>
		countsOf(
			module,
			tried.filter(place => place.module === module),
		),
	);
	const alignment = `l${'r'.repeat(COLUMNS.length - 1)}`;
	console.log(`\n${markdownTable(COLUMNS, alignment, [...rows, countsOf('all', tried)])}`);
	const survived = tried.filter(({status}) => status === 'survived');
	if (survived.length > 0) console.log('\nSurvived:');
	for (const {file, line, operator, before, after, tried: asked, reaching} of survived)
		console.log(
			`- ${file}:${line} ${operator} (${asked.length}/${reaching})\n${lines('-', before)}\n${lines('+', after)}`,
		);
}

function countsOf(name, places) {
	const count = status => places.filter(place => place.status === status).length;
	const [killed, timeouts, survived, equivalent] = ['killed', 'timeout', 'survived', 'equivalent'].map(count);
	const untyped = places.filter(({status, typesNotice}) => status === 'survived' && typesNotice).length;
	const elsewhere = places.filter(({reaching}) => reaching === 0).length;
	const score = `${((100 * (killed + timeouts)) / Math.max(1, places.length - equivalent)).toFixed(0)} %`;
	return [name, places.length, killed, timeouts, survived, untyped, equivalent, elsewhere, score];
}

function lines(sign, text) {
	return text.replaceAll(/^/gm, `    ${sign} `);
}
