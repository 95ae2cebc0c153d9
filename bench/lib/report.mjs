/** Prints `[scenario, what, value, kept]` rows as a table and ends the program: 1 when a promise was broken. */
export function finish(rows) {
	console.log('\n| scenario | what | value | kept |\n|---|---|--:|---|');
	for (const [scenario, what, value, kept] of rows)
		console.log(`| ${scenario} | ${what} | ${value} | ${kept ? 'yes' : '**NO**'} |`);
	process.exit(rows.every(row => row[3]) ? 0 : 1);
}

/** The value below which the given share of the numbers lies; NaN when there are none. */
export function percentile(numbers, share) {
	const sorted = [...numbers].sort((a, b) => a - b);
	return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** `12 / 34 / 56`: median, 99th percentile and most. */
export function spread(numbers, digits = 0) {
	return [0.5, 0.99, 1].map(share => percentile(numbers, share).toFixed(digits)).join(' / ');
}
