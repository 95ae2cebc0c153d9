import * as fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {MetricsRegistry} from '../../src/shared/metrics.js';
import {parseExposition, valueOf} from '../helpers/prometheus.js';

describe('the text for Prometheus', () => {
	test('has help, type and samples of each metric, in the order in which they were declared', () => {
		const registry = new MetricsRegistry();
		const requests = registry.counter('requests_total', 'Requests answered.');
		registry.gauge('memory_bytes', 'Memory in use.', () => 1.5);
		registry.gauge('open', 'Open connections.', () => [
			[{transport: 'a'}, 1],
			[{transport: 'b'}, 0],
		]);
		registry.sampledCounter('seen_total', 'Seen elsewhere.', () => 1e21);
		requests.add({method: 'x', result: 'success'});
		requests.add({method: 'x', result: 'error'}, 2);
		requests.add({method: 'x', result: 'success'});
		expect(registry.render()).toBe(
			`# HELP requests_total Requests answered.
# TYPE requests_total counter
requests_total{method="x",result="success"} 2
requests_total{method="x",result="error"} 2
# HELP memory_bytes Memory in use.
# TYPE memory_bytes gauge
memory_bytes 1.5
# HELP open Open connections.
# TYPE open gauge
open{transport="a"} 1
open{transport="b"} 0
# HELP seen_total Seen elsewhere.
# TYPE seen_total counter
seen_total 1e+21
`,
		);
	});

	test('asks for the value of a gauge whenever somebody looks', () => {
		const registry = new MetricsRegistry();
		let value = 1;
		registry.gauge('now', 'The value of now.', () => value);
		expect(valueOf(parseExposition(registry.render()), 'now')).toBe(1);
		value = 2;
		expect(valueOf(parseExposition(registry.render()), 'now')).toBe(2);
	});

	test('can be read back whatever the labels say', () => {
		fc.assert(
			fc.property(fc.uniqueArray(fc.string({unit: 'binary'}), {maxLength: 8}), names => {
				const registry = new MetricsRegistry();
				const counter = registry.counter('seen_total', 'Names seen.');
				const durations = registry.histogram('took_seconds', 'Time taken.');
				for (const [index, name] of names.entries()) {
					counter.add({name}, index + 1);
					durations.observe({name}, index);
				}
				const exposition = parseExposition(registry.render());
				for (const [index, name] of names.entries()) {
					expect(valueOf(exposition, 'seen_total', {name})).toBe(index + 1);
					expect(valueOf(exposition, 'took_seconds_sum', {name})).toBe(index);
				}
			}),
		);
	});

	test.each([
		['a quote', 'a"b', String.raw`a\"b`],
		['a backslash', String.raw`a\b`, String.raw`a\\b`],
		['a line end', 'a\nb', String.raw`a\nb`],
		['all of them', '"\\\n', String.raw`\"\\\n`],
	])('escapes %s', (_, name, escaped) => {
		const registry = new MetricsRegistry();
		registry.counter('seen_total', 'Names seen.').add({name});
		expect(registry.render().split('\n')[2]).toBe(`seen_total{name="${escaped}"} 1`);
	});
});

describe('a histogram', () => {
	test('counts in every bucket whatever took no longer than its bound', () => {
		const registry = new MetricsRegistry();
		const durations = registry.histogram('took_seconds', 'Time taken.');
		for (const seconds of [0, 0.001, 0.0011, 0.9, 60, 61]) durations.observe({}, seconds);
		const exposition = parseExposition(registry.render());
		const upTo = (le: string): number | undefined => valueOf(exposition, 'took_seconds_bucket', {le});
		expect([upTo('0.0005'), upTo('0.001'), upTo('0.0025'), upTo('0.5'), upTo('1'), upTo('60'), upTo('+Inf')]).toEqual([
			1, 2, 3, 3, 4, 5, 6,
		]);
		expect([valueOf(exposition, 'took_seconds_count'), valueOf(exposition, 'took_seconds_sum')]).toEqual([
			6,
			0 + 0.001 + 0.0011 + 0.9 + 60 + 61,
		]);
	});

	test('counts as many as were observed and sums them up, whatever they are', () => {
		const seconds = fc.array(fc.double({min: 0, max: 100, noNaN: true}), {maxLength: 30});
		fc.assert(
			fc.property(seconds, values => {
				const registry = new MetricsRegistry();
				const durations = registry.histogram('took_seconds', 'Time taken.');
				for (const value of values) durations.observe({}, value);
				const exposition = parseExposition(registry.render());
				const count = values.length === 0 ? undefined : values.length;
				expect(valueOf(exposition, 'took_seconds_count')).toBe(count);
				expect(valueOf(exposition, 'took_seconds_bucket', {le: '0.1'}) ?? 0).toBe(
					values.filter(value => value <= 0.1).length,
				);
			}),
		);
	});
});
