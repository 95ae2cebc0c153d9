// The table. `node bench/compare/lib/report.mjs FILE` prints it again from a --json file.
import {readFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {format, median} from '../../lib/stats.mjs';
import {markdownTable} from '../../lib/tables.mjs';

if (process.argv[1] === fileURLToPath(import.meta.url)) printAgain(process.argv[2]);

function printAgain(file) {
	if (file === undefined || file === '--help' || file === '-h') {
		console.log('usage: node bench/compare/lib/report.mjs FILE\n\nPrints the table of a file that --json wrote.');
		process.exit(file === undefined ? 2 : 0);
	}
	process.stdout.write(render(JSON.parse(readFileSync(file, 'utf8'))));
}

/** Median per server, and how many times better than the first server: median of the ratios of each repetition. */
export function render({machine, options, servers, results, seconds}) {
	const names = servers.map(({name}) => name);
	const [base, ...others] = names;
	const head = ['metric', 'unit', ...names, ...others.map(name => `${name} / ${base}`), 'notes'];
	const cells = Object.entries(results).flatMap(([metric, rows]) => [
		...valueRows(metric, rows, names),
		...failureRows(metric, rows, names),
	]);
	const sizes = options.quick ? ', quick sizes' : '';
	return [
		`# ${names.join(' vs ')}`,
		'',
		`${machine.cpu} x${machine.cores}, ${machine.memGiB} GiB, Linux ${machine.kernel}, Node ${machine.node}, load ${machine.load.join(' ')}, ${machine.date}; ${options.reps} interleaved repetitions${sizes}; ${seconds.toFixed(0)} s`,
		'',
		`Ratios: times better than ${base} (>1 is better), median of the repetitions [min..max].`,
		'',
		markdownTable(head, `ll${'r'.repeat(head.length - 3)}l`, cells),
		'',
	].join('\n');
}

function valueRows(metric, rows, names) {
	const [base, ...others] = names;
	const values = new Map();
	for (const name of names)
		for (const repetition of repetitionsOf(rows, name))
			for (const [key, value] of Object.entries(repetition ?? {})) if (!values.has(key)) values.set(key, value);
	return [...values].map(([key, {unit, better}]) => {
		const cells = names.map(name => format(median(numbersOf(rows, name, key))));
		const ratios = others.map(name => (better === 'info' ? '' : ratio(rows, {name, base, key, better})));
		const notes = names.flatMap(name => noteOf(rows, name, key));
		return [`${metric}.${key}`, unit, ...cells, ...ratios, [...new Set(notes)].join('; ')];
	});
}

function numbersOf(rows, name, key) {
	return repetitionsOf(rows, name)
		.map(repetition => repetition?.[key]?.v)
		.filter(value => value !== undefined && value !== null && !Number.isNaN(value));
}

function noteOf(rows, name, key) {
	const noted = repetitionsOf(rows, name).find(repetition => repetition?.[key]?.note);
	return noted ? [`${name}: ${noted[key].note}`] : [];
}

function ratio(rows, {name, base, key, better}) {
	const ratios = repetitionsOf(rows, name).flatMap((repetition, index) => {
		const own = repetition?.[key]?.v;
		const theirs = repetitionsOf(rows, base)[index]?.[key]?.v;
		if (!(own > 0) || !(theirs > 0)) return [];
		return [better === 'lower' ? theirs / own : own / theirs];
	});
	if (ratios.length === 0) return '-';
	const middle = median(ratios).toFixed(2);
	return ratios.length === 1
		? middle
		: `**${middle}** [${Math.min(...ratios).toFixed(2)}..${Math.max(...ratios).toFixed(2)}]`;
}

function failureRows(metric, rows, names) {
	return names.flatMap(failed =>
		(rows[failed]?.errors ?? []).map(error => {
			const cells = names.map(name => (name === failed ? 'FAILED' : ''));
			const ratios = names.slice(1).map(() => '');
			return [metric, '', ...cells, ...ratios, `${failed}: ${error}`];
		}),
	);
}

function repetitionsOf(rows, name) {
	return rows[name]?.reps ?? [];
}
