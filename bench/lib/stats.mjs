/** The percentile by nearest rank: `percentile(times, 99)`. NaN when there are no numbers. */
export function percentile(numbers, percent) {
	const ordered = sorted(numbers);
	if (ordered.length === 0) return Number.NaN;
	const rank = Math.ceil((percent / 100) * ordered.length);
	return ordered[Math.min(ordered.length - 1, Math.max(0, rank - 1))];
}

/** NaN when there are no numbers. */
export function median(numbers) {
	const ordered = sorted(numbers);
	const {length} = ordered;
	if (length === 0) return Number.NaN;
	return length % 2 ? ordered[(length - 1) / 2] : (ordered[length / 2 - 1] + ordered[length / 2]) / 2;
}

/** `12 / 34 / 56`: median, 99th percentile and maximum. */
export function spread(numbers, digits = 0) {
	return [50, 99, 100].map(percent => percentile(numbers, percent).toFixed(digits)).join(' / ');
}

/** Three significant digits, thousands apart; `-` for no value. */
export function format(value) {
	if (value === undefined || value === null || Number.isNaN(value)) return '-';
	const size = Math.abs(value);
	if (size === 0) return '0';
	if (size >= 1000)
		return Math.round(value)
			.toString()
			.replace(/\B(?=(\d{3})+$)/g, ' ');
	if (size >= 100) return value.toFixed(0);
	if (size >= 10) return value.toFixed(1);
	if (size >= 1) return value.toFixed(2);
	return value.toFixed(3);
}

function sorted(numbers) {
	return Float64Array.from(numbers).sort();
}
