import {percentile} from '../../lib/stats.mjs';

/** A value of which less is better. */
export function lower(value, unit, note) {
	return {v: value, unit, better: 'lower', note};
}

/** A value of which more is better. */
export function higher(value, unit, note) {
	return {v: value, unit, better: 'higher', note};
}

/** A value that is neither good nor bad. */
export function info(value, unit, note) {
	return {v: value, unit, better: 'info', note};
}

/** `NAME_p50` and `NAME_p99` of times in milliseconds. */
export function latencies(name, times, unit = 'us') {
	const factor = unit === 'us' ? 1000 : 1;
	return {
		[`${name}_p50`]: lower(percentile(times, 50) * factor, unit),
		[`${name}_p99`]: lower(percentile(times, 99) * factor, unit),
	};
}

/** A `NAME_LOST` value when bytes or notifications are missing, a `NAME_DISORDER` value when some came out of order. */
export function deliveryFaults(name, {bytes, missing, disorder}, expectedBytes) {
	const faults = {};
	if (bytes !== expectedBytes || missing) {
		const note = `got ${bytes} of ${expectedBytes}; ${missing} notifications missing`;
		faults[`${name}_LOST`] = info(expectedBytes - bytes, 'bytes', note);
	}
	if (disorder) faults[`${name}_DISORDER`] = info(disorder, 'frames', 'arrived after a later seq');
	return faults;
}
