// The table. `node bench/compare/lib/report.mjs FILE` prints it again from a --json file.
import {readFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {format, median} from '../../lib/stats.mjs';
import {markdownTable} from '../../lib/tables.mjs';
import {floorOf} from './row-floors.mjs';

/** Above this many cores on average, other programs or the host of the machine disturbed a repetition. */
const NOISY_CORES = 0.25;
/** Processor time of a row, beside the row itself. */
const COST_SUFFIX = '_cpu';

if (process.argv[1] === fileURLToPath(import.meta.url)) printAgain(process.argv[2]);

function printAgain(file) {
	if (file === undefined || file === '--help' || file === '-h') {
		console.log('usage: node bench/compare/lib/report.mjs FILE\n\nPrints the table of a file that --json wrote.');
		process.exit(file === undefined ? 2 : 0);
	}
	process.stdout.write(render(JSON.parse(readFileSync(file, 'utf8'))));
}

/** Median per server, and how many times better than the first server: median of the ratios of each repetition. */
export function render({machine, options, servers, results, floors, seconds}) {
	const names = servers.map(({name}) => name);
	const [base, ...others] = names;
	const costs = names.map(name => `CPU ${name}`);
	const ratios = others.flatMap(name => [`${name} / ${base}`, 'of CPU']);
	const floorHead = hasFloors(floors, others) ? ['C floor', `${others[0]} / C floor`] : [];
	const head = ['metric', 'unit', ...names, ...ratios, 'CPU unit', ...costs, ...floorHead, 'notes'];
	const cells = Object.entries(results).flatMap(([metric, rows]) => [
		...valueRows(metric, rows, names, floors),
		...failureRows(metric, rows, names, head.length),
	]);
	const sizes = options.quick ? ', quick sizes' : '';
	return [
		`# ${names.join(' vs ')}`,
		'',
		`${machine.cpu} x${machine.cores}, ${machine.memGiB} GiB, Linux ${machine.kernel}, Node ${machine.node}, load ${machine.load.join(' ')}, ${machine.date}; ${options.reps} interleaved repetitions${sizes}; ${seconds.toFixed(0)} s`,
		'',
		`Ratios: times better than ${base} (>1 is better), median of the repetitions [min..max]; CPU: processor time of the serving process per unit of work.`,
		'',
		describeNoise(results, names),
		'',
		markdownTable(head, `ll${'r'.repeat(head.length - 3)}l`, cells),
		'',
	].join('\n');
}

function hasFloors(floors, others) {
	return floors !== undefined && others.length > 0;
}

/** A sentence about the whole run: whether other programs used the machine meanwhile. */
function describeNoise(results, names) {
	const noises = Object.values(results).flatMap(rows => names.flatMap(name => noisesOf(rows, name)));
	const noisy = noises.filter(isNoisy).length;
	const most = key => Math.max(0, ...noises.map(noise => noise[key])).toFixed(2);
	if (noisy === 0)
		return `Nothing else ran: others used ${most('others')} cores at most, the host took ${most('stolen')}.`;
	return `**Noisy neighbours** in ${noisy} of ${noises.length} repetitions: others used up to ${most('others')} cores, the host took up to ${most('stolen')}.`;
}

function noisesOf(rows, name) {
	return (rows[name]?.noise ?? []).filter(Boolean);
}

function isNoisy({others, stolen}) {
	return others > NOISY_CORES || stolen > NOISY_CORES;
}

function valueRows(metric, rows, names, floors) {
	const [base, ...others] = names;
	const values = new Map();
	for (const name of names)
		for (const repetition of repetitionsOf(rows, name))
			for (const [key, value] of Object.entries(repetition ?? {})) if (!values.has(key)) values.set(key, value);
	const isCostOfRow = key => key.endsWith(COST_SUFFIX) && rowOfCost(key, values) !== undefined;
	const noise = noiseNote(rows, names);
	return [...values].flatMap(([key, {unit, better}]) => {
		if (isCostOfRow(key)) return [];
		const costKey = [...values.keys()].find(other => isCostOfRow(other) && rowOfCost(other, values) === key);
		const medians = names.map(name => median(numbersOf(rows, name, key)));
		const ratios = others.flatMap(name => [
			better === 'info' ? '' : ratio(rows, {name, base, key, better}),
			costKey === undefined ? '' : ratio(rows, {name, base, key: costKey, better: 'lower'}),
		]);
		const costs = names.map(name => (costKey === undefined ? '' : format(median(numbersOf(rows, name, costKey)))));
		const floor = hasFloors(floors, others) ? floorCells(`${metric}.${key}`, {floors, own: medians[1], better}) : [];
		const notes = [...new Set(names.flatMap(name => noteOf(rows, name, key))), noise].filter(Boolean).join('; ');
		const costUnit = costKey === undefined ? '' : values.get(costKey).unit;
		return [[`${metric}.${key}`, unit, ...medians.map(format), ...ratios, costUnit, ...costs, ...floor, notes]];
	});
}

/** The row a `_cpu` value belongs to: the one of its name, or the median of that. */
function rowOfCost(key, values) {
	const name = key.slice(0, -COST_SUFFIX.length);
	return [name, `${name}_p50`].find(row => values.has(row));
}

function floorCells(row, {floors, own, better}) {
	const floor = floorOf(row, floors);
	if (floor === undefined || !(own > 0)) return ['', ''];
	return [format(floor), (better === 'lower' ? floor / own : own / floor).toFixed(2)];
}

function noiseNote(rows, names) {
	const noises = names.flatMap(name => noisesOf(rows, name));
	const noisy = noises.filter(isNoisy);
	if (noisy.length === 0) return '';
	const most = Math.max(...noisy.map(({others, stolen}) => Math.max(others, stolen)));
	return `noisy in ${noisy.length} of ${noises.length} (up to ${most.toFixed(2)} cores)`;
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

function failureRows(metric, rows, names, columns) {
	return names.flatMap(failed =>
		(rows[failed]?.errors ?? []).map(error => {
			const cells = names.map(name => (name === failed ? 'FAILED' : ''));
			const rest = Array.from({length: columns - names.length - 3}, () => '');
			return [metric, '', ...cells, ...rest, `${failed}: ${error}`];
		}),
	);
}

function repetitionsOf(rows, name) {
	return rows[name]?.reps ?? [];
}
