import {expect} from 'vitest';

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
 * Reads the text exposition format, version 0.0.4, and is content with nothing less: every family has one HELP and one
 * TYPE in front of its samples, no sample stands apart from its family or is there twice.
 */
export function parseExposition(text: string): Exposition {
	expect(text.endsWith('\n')).toBe(true);
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
			expect([helped, types[family]]).toEqual([family, undefined]);
			types[family] = type[2]!;
		} else {
			const sample = parseSample(line);
			expect(familyOf(sample.name, types)).toBe(family);
			const series = line.slice(0, line.lastIndexOf(' '));
			expect(seen.has(series)).toBe(false);
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

function parseSample(line: string): Sample {
	const match = SAMPLE.exec(line);
	expect(match, `not a sample: ${line}`).not.toBeNull();
	const [, name, labels = '', value] = match!;
	const pairs = [...labels.matchAll(/([a-zA-Z0-9_]+)="((?:[^"\\]|\\.)*)"/g)].map(
		([, label, text]) => [label!, unescaped(text!)] as const,
	);
	return {
		name: name!,
		labels: Object.fromEntries(pairs),
		value: value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value),
	};
}

function unescaped(text: string): string {
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
				const {le, ...rest} = sample.labels;
				return sample.name === `${family}_bucket` && JSON.stringify(rest) === JSON.stringify(labels);
			});
			const bounds = buckets.map(({labels: {le}}) => (le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)));
			const counts = buckets.map(({value}) => value);
			expect(bounds).toEqual([...bounds].sort((a, b) => a - b));
			expect(counts).toEqual([...counts].sort((a, b) => a - b));
			expect([bounds.at(-1), counts.at(-1)]).toEqual([Number.POSITIVE_INFINITY, count]);
		}
	}
}
