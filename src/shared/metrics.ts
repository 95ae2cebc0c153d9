type Labels = Readonly<Record<string, string>>;

/** Upper bounds of the histogram buckets, in seconds. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

interface Metric {
	readonly name: string;
	readonly help: string;
	readonly kind: 'counter' | 'gauge' | 'histogram';
	samples(): Iterable<[suffix: string, labels: Labels, value: number]>;
}

/** Value of a counter for one set of labels, for a caller that adds often. */
export interface CounterSeries {
	readonly labels: Labels;
	value: number;
}

/** A number that only grows. */
export class Counter {
	readonly #values = new Map<string, CounterSeries>();

	add(labels: Labels, by = 1): void {
		this.series(labels).value += by;
	}

	/** The series of these labels, which appears in the text from now on. */
	series(labels: Labels): CounterSeries {
		const key = Object.values(labels).join('\n');
		let entry = this.#values.get(key);
		if (!entry) {
			entry = {labels, value: 0};
			this.#values.set(key, entry);
		}
		return entry;
	}

	*samples(): Iterable<[string, Labels, number]> {
		for (const {labels, value} of this.#values.values()) yield ['', labels, value];
	}
}

/** Durations of one set of labels, for a caller that observes often. */
export class HistogramSeries {
	readonly labels: Labels;
	readonly counts = DURATION_BUCKETS.map(() => 0);
	sum = 0;
	count = 0;

	constructor(labels: Labels) {
		this.labels = labels;
	}

	observe(seconds: number): void {
		this.sum += seconds;
		this.count++;
		let bucket = 0;
		while (bucket < DURATION_BUCKETS.length && seconds > DURATION_BUCKETS[bucket]!) bucket++;
		if (bucket < DURATION_BUCKETS.length) this.counts[bucket]!++;
	}
}

/** Distribution of durations, in seconds. */
export class Histogram {
	readonly #series = new Map<string, HistogramSeries>();

	observe(labels: Labels, seconds: number): void {
		this.series(labels).observe(seconds);
	}

	/** The series of these labels, which appears in the text from now on. */
	series(labels: Labels): HistogramSeries {
		const key = Object.values(labels).join('\n');
		let entry = this.#series.get(key);
		if (!entry) {
			entry = new HistogramSeries(labels);
			this.#series.set(key, entry);
		}
		return entry;
	}

	*samples(): Iterable<[string, Labels, number]> {
		for (const {labels, counts, sum, count} of this.#series.values()) {
			let cumulative = 0;
			for (const [index, bound] of DURATION_BUCKETS.entries()) {
				cumulative += counts[index]!;
				yield ['_bucket', {...labels, le: String(bound)}, cumulative];
			}
			yield ['_bucket', {...labels, le: '+Inf'}, count];
			yield ['_sum', labels, sum];
			yield ['_count', labels, count];
		}
	}
}

/** Metrics by name, and their text for Prometheus. */
export class MetricsRegistry {
	readonly #metrics: Metric[] = [];

	counter(name: string, help: string): Counter {
		const counter = new Counter();
		this.#metrics.push({name, help, kind: 'counter', samples: () => counter.samples()});
		return counter;
	}

	histogram(name: string, help: string): Histogram {
		const histogram = new Histogram();
		this.#metrics.push({name, help, kind: 'histogram', samples: () => histogram.samples()});
		return histogram;
	}

	/** `read` is called at each render, for one value or for values by label. */
	gauge(name: string, help: string, read: () => number | readonly (readonly [Labels, number])[]): void {
		this.#addSampled(name, help, 'gauge', read);
	}

	/** A counter that is kept elsewhere. */
	sampledCounter(name: string, help: string, read: () => number): void {
		this.#addSampled(name, help, 'counter', read);
	}

	/** The text exposition format, version 0.0.4. */
	render(): string {
		const lines: string[] = [];
		for (const metric of this.#metrics) {
			lines.push(`# HELP ${metric.name} ${metric.help}`, `# TYPE ${metric.name} ${metric.kind}`);
			for (const [suffix, labels, value] of metric.samples()) {
				lines.push(`${metric.name}${suffix}${formatLabels(labels)} ${value}`);
			}
		}
		return `${lines.join('\n')}\n`;
	}

	#addSampled(
		name: string,
		help: string,
		kind: 'counter' | 'gauge',
		read: () => number | readonly (readonly [Labels, number])[],
	): void {
		this.#metrics.push({
			name,
			help,
			kind,
			*samples() {
				const value = read();
				if (typeof value === 'number') yield ['', {}, value];
				else for (const [labels, each] of value) yield ['', labels, each];
			},
		});
	}
}

function formatLabels(labels: Labels): string {
	const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabelValue(value)}"`);
	return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeLabelValue(value: string): string {
	return value.replaceAll('\\', String.raw`\\`).replaceAll('"', String.raw`\"`).replaceAll('\n', String.raw`\n`);
}
