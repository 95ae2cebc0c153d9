export interface Sample {
	readonly name: string;
	readonly labels: Record<string, string>;
	readonly value: number;
}

export interface Exposition {
	readonly types: Record<string, string>;
	readonly samples: Sample[];
}

const HELP = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) [^\n]+$/;
const TYPE = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram)$/;
const VALUE = String.raw`(\+Inf|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)`;
const LABEL = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"`;
const SAMPLE = new RegExp(String.raw`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(${LABEL}(?:,${LABEL})*)\})? ${VALUE}$`);

/**
 * Strict parser of the text exposition format, version 0.0.4: every family has one HELP and one TYPE before its samples,
 * samples stand next to their family, and no series occurs twice.
 */
export function parseExposition(text: string): Exposition {
	ensure(text.endsWith('\n'), 'a line end at the end', text);
	const types: Record<string, string> = {};
	const samples: Sample[] = [];
	const seen = new Set<string>();
	let family = '';
	let helped = '';
	for (const line of text.slice(0, -1).split('\n')) {
		const help = HELP.exec(line);
		const type = TYPE.exec(line);
		if (help) {
			helped = help[1]!;
		} else if (type) {
			family = type[1]!;
			ensure(helped === family && types[family] === undefined, 'one HELP and one TYPE per family', line);
			types[family] = type[2]!;
		} else {
			const sample = parseSample(line);
			ensure(familyOf(sample.name, types) === family, 'samples next to their family', line);
			const series = line.slice(0, line.lastIndexOf(' '));
			ensure(!seen.has(series), 'every series once', line);
			seen.add(series);
			samples.push(sample);
		}
	}
	checkHistograms({types, samples});
	return {types, samples};
}

export function valueOf({samples}: Exposition, name: string, labels: Record<string, string> = {}): number | undefined {
	return samples.find(sample => sample.name === name && JSON.stringify(sample.labels) === JSON.stringify(labels))
		?.value;
}

function ensure(holds: boolean, what: string, where: string): void {
	if (!holds) throw new Error(`expected ${what}: ${where}`);
}

function grows(numbers: readonly number[]): boolean {
	return numbers.every((number, index) => index === 0 || numbers[index - 1]! <= number);
}

function parseSample(line: string): Sample {
	const match = SAMPLE.exec(line);
	if (!match) throw new Error(`not a sample: ${line}`);
	const [, name, labels = '', value] = match;
	const pairs = [...labels.matchAll(/([a-zA-Z0-9_]+)="((?:[^"\\]|\\.)*)"/g)].map(
		([, label, text]) => [label!, unescapeLabel(text!)] as const,
	);
	return {
		name: name!,
		labels: Object.fromEntries(pairs),
		value: value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value),
	};
}

function unescapeLabel(text: string): string {
	return text.replaceAll(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character));
}

function familyOf(name: string, types: Record<string, string>): string {
	if (types[name] !== undefined) return name;
	const base = name.replace(/_(?:bucket|sum|count)$/, '');
	return types[base] === 'histogram' ? base : name;
}

/** Buckets grow with their bounds, and the last one holds everything. */
function checkHistograms({types, samples}: Exposition): void {
	for (const family of Object.keys(types).filter(name => types[name] === 'histogram')) {
		for (const {labels, value: count} of samples.filter(({name}) => name === `${family}_count`)) {
			const buckets = samples.filter(sample => {
				const {le: _, ...rest} = sample.labels;
				return sample.name === `${family}_bucket` && JSON.stringify(rest) === JSON.stringify(labels);
			});
			const bounds = buckets.map(({labels: {le}}) => (le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)));
			const counts = buckets.map(({value}) => value);
			ensure(grows(bounds) && grows(counts), 'buckets that grow', family);
			ensure(bounds.at(-1) === Number.POSITIVE_INFINITY && counts.at(-1) === count, 'a bucket for all', family);
		}
	}
}
